"""Laws of trust: what is not believed changes nothing, and what is held comes back exactly."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapse
from lapse.contract import (
    Bounds,
    Demand,
    Distrust,
    Known,
    Statement,
    Terms,
    accepted,
    objection,
    versions_root,
    withheld,
)
from lapse.runtime import Memory, Trust
from lapse.testing import ManualClock
from lapse.testing.service import ScriptedService
from lapse.transports.http import Transport

SECOND = 1_000_000
TERMS = Terms(issuer="i")

STATEMENTS = st.builds(
    Statement,
    issuer=st.sampled_from(["i", "j"]),
    audience=st.sampled_from(["", "a"]),
    root=st.sampled_from([versions_root({"t": v}, None) for v in "123"]),
    content=st.sampled_from(["", "a" * 64, "b" * 64]),
    epoch=st.integers(0, 5),
    issued_at=st.integers(0, 50).map(lambda s: s * SECOND),
    expires_at=st.integers(0, 200).map(lambda s: s * SECOND),
)


@given(st.lists(st.tuples(STATEMENTS, st.integers(0, 20)), max_size=20))
@pytest.mark.requirement("C-TRU-06", "C-TRU-08", "C-TRU-12")
def test_epochs_never_fall_and_nothing_is_served_beyond_a_statements_time(
    said: list[tuple[Statement, int]],
) -> None:
    known: Known | None = None
    now = 0
    for statement, pause in said:
        now += pause * SECOND
        before = known
        found = objection(known, statement, TERMS, now=now)
        if found is None:
            known = accepted(known, statement, proof="p", now=now)
        if known is None:
            continue
        assert known.statement is not None
        if before is not None and before.statement is not None:
            assert known.statement.epoch >= before.statement.epoch
            assert known.fresh_until >= before.fresh_until
        if withheld(known, TERMS, now=now) is None:
            assert now < max(s.expires_at for s, _ in said)


@given(STATEMENTS, STATEMENTS)
@pytest.mark.requirement("C-TRU-09")
def test_one_epoch_has_one_content_whoever_is_asked_first(one: Statement, two: Statement) -> None:
    two = replace(two, issuer=one.issuer, audience=one.audience, epoch=one.epoch)
    terms = Terms(issuer=one.issuer, audience=one.audience)
    for first, second in ((one, two), (two, one)):
        known = accepted(None, first, proof="p", now=0)
        found = objection(known, second, terms, now=0)
        assert (found is Distrust.EQUIVOCATED) is (first.state != second.state)


KEYS = tuple("abcd")
ORIGIN = "https://api.example"
BOUNDS = Bounds(window_us=10 * SECOND, moves=2, evictions=1, questions=2)
STEPS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from("123"), st.integers(0, 4)), max_size=40
)


class Scene:
    """A service, a client that bounds it, and a clock."""

    def __init__(self, memory: Memory, service: ScriptedService, clock: ManualClock) -> None:
        self.memory = memory
        self.service = service
        self.clock = clock
        self.client = httpx2.Client(transport=Transport(memory, service), base_url=ORIGIN)
        for key in KEYS:
            self.call(key, "?")
        self.settle()

    def call(self, key: str, value: str) -> None:
        self.client.post(f"/fix/t/{key}", json={"key": key, "value": value})

    def news(self) -> None:
        """A response that brings the versions and teaches nothing."""
        self.call("a", self.service.rows("t")["a"])

    def settle(self) -> None:
        """Three windows without an attack."""
        for _ in range(3):
            self.clock.advance(seconds=10)
            self.news()

    def change(self, key: str, value: str) -> None:
        self.service.reload("t", {**self.service.rows("t"), key: value})
        self.news()

    def served(self) -> dict[str, str]:
        return {
            record.content["when"]["key"]: record.content["parameters"]["value"]
            for record in self.memory.records()
            if self.memory.get(ORIGIN, record.slot) is not None
        }


@contextmanager
def scene() -> Generator[Scene]:
    clock = ManualClock(SECOND)
    service = ScriptedService({"t": dict.fromkeys(KEYS, "1")})
    with lapse.open("memory:", clock=clock, trust=Trust(bounds=BOUNDS)) as memory:
        made = Scene(memory, service, clock)
        with closing(made.client):
            yield made


@given(STEPS)
@pytest.mark.requirement("C-TRU-18", "C-TRU-19")
def test_a_bound_never_lets_a_stale_fix_be_served(steps: list[tuple[str, str, int]]) -> None:
    with scene() as made:
        for key, value, pause in steps:
            made.change(key, value)
            rows = made.service.rows("t")
            assert made.served().items() <= rows.items()
            made.clock.advance(seconds=pause)
        made.settle()
        assert made.served().items() <= made.service.rows("t").items()


@given(STEPS)
@pytest.mark.requirement("C-TRU-18", "C-TRU-19")
def test_after_a_flood_exactly_the_fixes_that_hold_are_served(
    steps: list[tuple[str, str, int]],
) -> None:
    with scene() as made:
        assert made.served() == dict.fromkeys(KEYS, "1")
        questions = made.memory.counters["questions"]
        for _ in range(3):  # too fast from here on, and the clock stands still
            made.service.reload("t", made.service.rows("t"))
            made.news()
        assert made.served() == {}
        head = made.memory.store.head()
        for key, value, _ in steps:
            made.change(key, value)
        assert made.memory.store.head() == head  # a flood does not fill the ledger either
        assert made.memory.counters["questions"] <= questions + BOUNDS.questions
        made.settle()
        rows = made.service.rows("t")
        assert made.served() == {key: value for key, value in rows.items() if value == "1"}


@given(
    st.sampled_from(["", "x", "contract-stamp", "signature"]),
    st.dictionaries(st.sampled_from(["t", "u"]), st.sampled_from("123"), max_size=2),
)
@pytest.mark.requirement("C-TRU-10", "C-TRU-13")
def test_what_is_not_believed_changes_nothing(header: str, versions: dict[str, str]) -> None:
    answers: dict[str, Any] = {
        "table_versions": versions,
        "recovery_feedback": {"suggestions": []},
    }
    hostile = httpx2.MockTransport(
        lambda _: httpx2.Response(200, json=answers, headers={header: "x"} if header else {})
    )
    service = ScriptedService({"t": {"a": "1"}})
    trust = lapse.trust(otherwise=Demand.ALWAYS)
    with lapse.open("memory:", clock=ManualClock(SECOND), trust=trust) as memory:
        before = memory.store.head()
        for transport in (hostile, service):
            with httpx2.Client(
                transport=Transport(memory, transport), base_url="https://api.example"
            ) as client:
                client.post("/fix/t/a", json={"key": "a", "value": "?"})
        assert memory.store.head() == before
        assert memory.counters["untrusted"] >= 1
