"""A world as a service, the drift driver, and an episode's five attempts, over real HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapse
from lapse.contract import A2D, Reading, Registry, Table, Violation
from lapse.errors import Refused
from lapse.judges import Task
from lapse.server import Contract
from lapse.transports.http import Transport
from lapse_bench.drift import DriftDriver
from lapse_bench.episodes import MOST_ATTEMPTS, Agent
from lapse_bench.planners import planner
from lapse_bench.scenarios import load
from lapse_bench.service import UnknownOperation, operation_of, organic_judge, service
from lapse_bench.serving import loopback, served
from lapse_bench.traces import Event
from lapse_bench.worlds import ApiConstraints, CurrentRelease, acme

if TYPE_CHECKING:
    from lapse.ledger import JsonObject


RIGHT = "right"


def test_the_driver_needs_the_operators_token() -> None:
    contract = Contract(acme.initial(), operator_token=RIGHT)
    with (
        served(service(contract, acme.judge)) as url,
        httpx2.Client(
            base_url=url, transport=loopback(), headers={"authorization": "Bearer wrong"}
        ) as operator,
    ):
        driver = DriftDriver(load("payments"), acme.TABLES, operator)
        assert driver.before(11) == ()
        with pytest.raises(Refused, match="active_csm_codes"):
            driver.before(12)


def test_the_driver_applies_each_event_once_and_moves_versions() -> None:
    contract = Contract(acme.initial(), operator_token=RIGHT)
    with (
        served(service(contract, acme.judge)) as url,
        httpx2.Client(
            base_url=url, transport=loopback(), headers={"authorization": "Bearer right"}
        ) as operator,
    ):
        driver = DriftDriver(load("payments"), acme.TABLES, operator)
        assert [event.table for event in driver.before(12)] == ["active_csm_codes"]
        assert driver.before(12) == ()
        assert [event.kind for event in driver.before(35)] == ["bump"]
    codes = contract.registry.tables["active_csm_codes"]
    assert codes.rows["plan_partner_growth"] == {"code": "WINTERLAUNCH26"}
    assert codes.version == "2.0.0"
    bumped = contract.registry.tables["recommended_credit_token"]
    assert (bumped.version, bumped.rows) == ("1.0.1", acme.TABLES["recommended_credit_token"])


def test_a_service_says_what_it_does_not_offer() -> None:
    world = CurrentRelease()
    contract = Contract(Registry.of([]))
    with served(service(contract, organic_judge(world))) as url:
        answer = httpx2.post(f"{url}/call/php", json={"cycle": "9"})
        assert answer.status_code == 404


def never_right(operation: str, request: JsonObject, tables: Reading) -> Violation | None:
    if operation.endswith("/missing"):
        raise UnknownOperation
    if operation.endswith("/broken"):
        raise ZeroDivisionError
    tables["t"].get("k")
    fix = tables.suggest("TRY", {"n": request.get("n", 0) + 1})
    return Violation(policy="never", title="Never", detail="Never.", suggestions=(fix,))


def asked(operation: str) -> Task:
    return Task(operation=operation, request={})


@pytest.mark.parametrize(("path", "attempts"), [("/never", MOST_ATTEMPTS), ("/missing", 1)])
def test_an_episode_that_never_succeeds_is_not_completed(path: str, attempts: int) -> None:
    contract = Contract(Registry.of([Table("t", {"k": 1}, "1")]))
    with (
        served(service(contract, never_right)) as url,
        lapse.open("memory:", policy=A2D) as memory,
        httpx2.Client(base_url=url, transport=Transport(memory, loopback(), issuer="i")) as client,
    ):
        agent = Agent(planner=planner("oldest"), memory=memory, client=client, issuer="i")
        episode = agent.attempt(asked(f"POST {path}"), holds=lambda _: True)
        assert (episode.attempts, episode.completed, episode.first_try) == (attempts, False, False)


def test_a_service_that_breaks_stops_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    contract = Contract(Registry.of([Table("t", {"k": 1}, "1")]))
    with (
        served(service(contract, never_right)) as url,
        lapse.open("memory:", policy=A2D) as memory,
        httpx2.Client(base_url=url, transport=Transport(memory, loopback(), issuer="i")) as client,
    ):
        agent = Agent(planner=planner("oldest"), memory=memory, client=client, issuer="i")
        with pytest.raises(Refused, match="the service broke on POST /broken"):
            agent.attempt(asked("POST /broken"), holds=lambda _: True)
    assert "ZeroDivisionError" in capfd.readouterr().err


@given(table=st.text(min_size=1, max_size=8), subject=st.text(min_size=1, max_size=8))
def test_any_name_travels_in_a_path_and_comes_back(table: str, subject: str) -> None:
    world = ApiConstraints()
    row = {"type": "integer", "required": True}
    world.apply(table, [Event(0, "c", table, f"{subject}#query.n", "added", None, row)])
    operation = operation_of(world, table, subject)
    assert operation.isascii()
    assert not set(operation) & set("%?#\\\n")
    if world.objections(table, subject, {}) is None:
        return  # a '#' in the subject is where its parameter begins
    try:
        tables = Reading(Registry.of([Table(table, {f"{subject}#query.n": row}, "1")]))
    except lapse.LapseError:
        return  # not every text may name a table
    violation = organic_judge(world)(operation, {}, tables)
    assert violation is not None
    assert violation.suggestions[0].rows[0].key == f"{subject}#query.n"
