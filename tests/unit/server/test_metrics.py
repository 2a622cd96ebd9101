"""What a service sees of its clients, request by request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from lapse.contract import CacheHint, Reading, Registry, Suggestion, Table
from lapse.errors import InvalidValue
from lapse.server import Contract
from lapse.server.metrics import Behaviour, Bounds, Exchange, Metrics
from lapse.server.metrics_prometheus import exposition

OPERATION = "POST /orders"
ROWS = {"growth": "SUMMER", "scale": "PARTNER"}


@dataclass
class Service:
    """A service that suggests the code of a plan, and what its metrics make of its clients."""

    contract: Contract = field(default_factory=lambda: Contract(Registry.of([table()])))
    bounds: Bounds = field(default_factory=Bounds)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.metrics = Metrics(self.contract, bounds=self.bounds, key=b"k")

    def suggestion(self, plan: str) -> Suggestion:
        tables = Reading(self.contract.registry)
        code = tables["codes"].get(plan)
        return tables.suggest("ADD_CODE", {"code": code}, when={"plan": plan, "code": None})

    def order(self, plan: str, code: str | None = None, **more: Any) -> None:
        """One request of a client, refused with a suggestion unless it is right."""
        right = code == self.contract.registry.tables["codes"].rows.get(plan)
        request = {"plan": plan} if code is None else {"plan": plan, "code": code}
        self.exchange(request, () if right else (self.suggestion(plan),), **more)

    def exchange(
        self,
        request: Any,
        suggestions: tuple[Suggestion, ...] = (),
        *,
        who: str = "a",
        name: str | None = None,
        texts: bool = False,
    ) -> None:
        self.metrics.exchanged(
            Exchange(
                who=who.encode(),
                operation=OPERATION,
                request=request,
                texts=texts,
                status=422 if suggestions else 200,
                reloads=self.metrics.reloads,
                suggestions=suggestions,
                name=name,
            )
        )

    def reload(self, **rows: str) -> None:
        self.contract.reload("codes", {**ROWS, **rows})

    def counts(self) -> dict[str, int]:
        """The counts that say something of clients, without their labels."""
        snapshot = self.metrics.snapshot()
        names = {name for name, _ in snapshot.counts} - {"answers", "reloads", "rows_changed"}
        told = {name: snapshot.total(name) for name in names - {"evictions"}}
        seen = {v[0]: n for (name, v), n in snapshot.counts.items() if name == "evictions"}
        return {**told, **seen}

    def behaviour(self) -> Behaviour:
        (found,) = self.metrics.snapshot().behaviours
        return found


def table() -> Table:
    return Table("codes", dict(ROWS), "1.0.0")


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_client_that_was_given_nothing_is_not_kept(service: Service) -> None:
    service.order("growth", "SUMMER")
    assert service.metrics.snapshot().behaviours == {}
    assert service.metrics.snapshot().counts == {("answers", ("2xx",)): 1}


def test_a_retry_that_carries_the_parameters_followed(service: Service) -> None:
    service.order("growth")
    assert service.behaviour() is Behaviour.UNTRIED
    service.order("growth", "SUMMER")
    assert service.counts() == {"suggestions_given": 1, "suggestions_followed": 1}
    assert service.behaviour() is Behaviour.FOLLOWS


def test_a_retry_that_does_not_ignored_and_another_request_is_no_retry(service: Service) -> None:
    service.order("growth")
    service.order("scale", "PARTNER")
    assert service.counts() == {"suggestions_given": 1}
    service.order("growth", "GUESS")
    assert service.counts() == {"suggestions_given": 2, "suggestions_ignored": 1}
    assert service.behaviour() is Behaviour.IGNORES


def test_of_several_suggestions_one_is_enough(service: Service) -> None:
    other = Suggestion(type="CHANGE_PLAN", parameters={"plan": "scale"})
    service.exchange({"plan": "growth"}, (service.suggestion("growth"), other))
    service.order("growth", "SUMMER")
    assert service.counts() == {"suggestions_given": 2, "suggestions_followed": 1}


def test_a_later_request_that_carries_them_saved_one(service: Service) -> None:
    service.order("growth")
    service.order("growth", "SUMMER")
    service.order("growth", "SUMMER")
    service.order("scale", "PARTNER")
    assert service.counts() == {
        "suggestions_given": 1,
        "suggestions_followed": 1,
        "fixes_reused": 1,
        "requests_saved": 1,
    }
    assert service.behaviour() is Behaviour.REMEMBERS


def test_a_later_request_that_was_refused_all_the_same_saved_nothing(service: Service) -> None:
    service.order("growth")
    service.order("growth", "SUMMER")
    other = Suggestion(type="OTHER", parameters={"size": 1})
    service.exchange({"plan": "growth", "code": "SUMMER"}, (other,))
    assert service.counts()["fixes_reused"] == 1
    assert "requests_saved" not in service.counts()


def test_the_same_mistake_again_is_counted_and_something_else_is_not(service: Service) -> None:
    service.order("growth")
    service.order("growth", "SUMMER")
    service.exchange({"plan": "growth", "code": "OTHER"})
    service.exchange({"plan": "growth"})
    assert service.counts()["mistakes_repeated"] == 1


def test_what_is_only_for_the_moment_is_followed_and_then_forgotten(service: Service) -> None:
    moment = Suggestion(type="SET_TYPE", parameters={"n": 5}, cache_hint=CacheHint.RECOMPUTE)
    service.exchange({"n": "5"}, (moment,))
    service.exchange({"n": 5})
    service.exchange({"n": 5})
    assert service.counts() == {"suggestions_given": 1, "suggestions_followed": 1}


def test_texts_of_a_form_are_compared_as_texts(service: Service) -> None:
    tables = Reading(service.contract.registry)
    tables["codes"].get("growth")
    fix = tables.suggest("SET", {"size": 100, "on": True}, when={"size": "5000"})
    service.exchange({"size": "5000"}, (fix,), texts=True)
    service.exchange({"size": "100", "on": "true"}, texts=True)
    assert service.counts()["suggestions_followed"] == 1


def test_parameters_inside_parameters_are_compared_where_they_stand(service: Service) -> None:
    fix = Suggestion(type="SET", parameters={"a": {"b": 1}}, when={"a": {"c": 2}, "a.b": None})
    service.exchange({"a": {"c": 2}}, (fix,))
    service.exchange({"a": {"c": 2, "b": 1}})
    assert "suggestions_followed" not in service.counts()  # `when` names the whole of `a`
    service.exchange({"a": {"c": 2}})
    assert service.counts()["suggestions_ignored"] == 1


# -- evictions -----------------------------------------------------------------------------------


def learn(service: Service) -> None:
    """A client that was told of both plans, and knows both."""
    for plan, code in ROWS.items():
        service.order(plan)
        service.order(plan, code)


def aware(service: Service) -> None:
    """An answer that carries the new versions, and shows nothing else."""
    service.exchange({"unrelated": True})


@pytest.mark.parametrize(
    ("plan", "code", "seen"),
    [
        ("growth", None, "right"),
        ("growth", "SUMMER", "missed"),
        ("scale", None, "needless"),
        ("scale", "PARTNER", "kept"),
    ],
)
def test_an_eviction_is_judged_by_the_first_request_after_the_client_could_know(
    service: Service, plan: str, code: str | None, seen: str
) -> None:
    learn(service)
    service.reload(growth="WINTER")
    aware(service)
    service.order(plan, code)
    found = {name: n for name, n in service.counts().items() if name in SEEN}
    assert found == {seen: 1}
    if code is not None:
        service.order(plan, code)
        assert service.counts()[seen] == 1  # once for each move


SEEN = {"right", "missed", "needless", "kept", "unavoidable"}


def test_what_a_client_cannot_know_is_not_held_against_it(service: Service) -> None:
    learn(service)
    service.reload(growth="WINTER")
    service.order("growth", "SUMMER")
    assert service.counts()["unavoidable"] == 1
    assert "missed" not in service.counts()
    assert service.metrics.snapshot().recall is None


def test_precision_and_recall_are_shares_of_what_was_seen(service: Service) -> None:
    learn(service)
    service.reload(growth="WINTER")
    aware(service)
    service.order("growth")
    service.order("scale")
    snapshot = service.metrics.snapshot()
    assert (snapshot.precision, snapshot.recall) == (0.5, 1.0)


def test_a_table_that_is_gone_takes_its_fixes_with_it(service: Service) -> None:
    learn(service)
    service.contract.reload("codes", None)
    aware(service)
    service.exchange({"plan": "growth", "code": "SUMMER"})
    assert service.counts()["missed"] == 1


# -- behaviours ----------------------------------------------------------------------------------


def test_a_client_that_keeps_what_lapsed_shows_it(service: Service) -> None:
    learn(service)
    service.order("growth", "SUMMER")
    service.reload(growth="WINTER")
    aware(service)
    service.order("growth", "SUMMER")
    assert service.behaviour() is Behaviour.KEEPS_LAPSED


def test_a_client_that_drops_a_whole_table_shows_it(service: Service) -> None:
    learn(service)
    service.order("scale", "PARTNER")
    service.reload(growth="WINTER")
    aware(service)
    service.order("scale")
    assert service.behaviour() is Behaviour.DROPS_TABLES


def test_a_client_that_asks_what_changed_shows_it(service: Service) -> None:
    learn(service)
    service.order("growth", "SUMMER")
    service.reload(growth="WINTER")
    service.metrics.asked(b"a", "changes", status=200, reloads=1, tagged=False)
    service.metrics.asked(b"a", "versions", status=304, reloads=1, tagged=True)
    service.metrics.asked(b"nobody", "changes", status=200, reloads=1, tagged=False)
    assert service.behaviour() is Behaviour.ASKS_ROWS
    (shown,) = service.metrics.fingerprints()
    assert (shown.questions, shown.revalidations) == (1, 1)
    snapshot = service.metrics.snapshot()
    assert snapshot.total("questions", "changes") == 2
    assert snapshot.total("questions", "versions", "304") == 1


# -- bounds and privacy --------------------------------------------------------------------------


def test_clients_are_forgotten_in_the_order_they_were_heard_of() -> None:
    service = Service(bounds=Bounds(clients=2))
    for who in "abac":
        service.order("growth", who=who)
    assert service.metrics.concerns(b"a", OPERATION)
    assert not service.metrics.concerns(b"b", OPERATION)
    assert service.counts()["clients_forgotten"] == 1


def test_suggestions_are_forgotten_oldest_first() -> None:
    service = Service(bounds=Bounds(suggestions=1))
    learn(service)
    service.order("growth", "SUMMER")
    assert "fixes_reused" not in service.counts()
    service.order("scale", "PARTNER")
    assert service.counts()["fixes_reused"] == 1


def test_names_beyond_a_bound_are_counted_together() -> None:
    service = Service(bounds=Bounds(names=2))
    for n in range(4):
        one = Suggestion(type=f"T{n}", parameters={"n": n})
        service.exchange({}, (one,), name=f"client {n}")
    counts = service.metrics.snapshot().counts
    assert {values for (name, values) in counts if name == "suggestions_given"} == {
        ("client 0", "T0"),
        ("client 1", "T1"),
        ("other", "other"),
    }


@pytest.mark.parametrize("bound", ["clients", "suggestions", "body_bytes", "names"])
def test_a_bound_keeps_something(bound: str) -> None:
    with pytest.raises(InvalidValue, match=bound):
        Bounds(**{bound: 0})


def test_nothing_of_a_request_is_kept_but_digests(service: Service) -> None:
    service.order("growth", who="Bearer secret-token", name=None)
    service.exchange({"plan": "growth", "code": "SECRET-VALUE"}, who="Bearer secret-token")
    kept = repr(vars(service.metrics))
    assert "ADD_CODE" in kept  # what is kept of clients is in there
    assert "secret-token" not in kept
    assert "SECRET-VALUE" not in kept
    assert "SUMMER" not in kept


# -- the exposition ------------------------------------------------------------------------------


def test_the_counts_are_written_as_a_scraper_reads_them(service: Service) -> None:
    learn(service)
    service.reload(growth="WINTER")
    body, kind = exposition(service.metrics, "text/plain;version=0.0.4")
    assert kind.startswith("text/plain")
    lines = body.decode().splitlines()
    assert 'lapse_suggestions_followed_total{action="ADD_CODE",client="any"} 2.0' in lines
    assert 'lapse_reloads_total{table="codes"} 1.0' in lines
    assert 'lapse_rows_changed_total{table="codes"} 1.0' in lines
    assert 'lapse_clients{behaviour="follows"} 1.0' in lines
    assert "# TYPE lapse_requests_saved_total counter" in lines


def test_a_scraper_that_asks_for_openmetrics_gets_it(service: Service) -> None:
    body, kind = exposition(service.metrics, "application/openmetrics-text;version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_tables_are_shown_under_other_names_on_request(service: Service) -> None:
    metrics = Metrics(service.contract, alias=lambda table: f"t-{len(table)}")
    service.reload(growth="WINTER")
    assert metrics.snapshot().total("reloads", "t-5") == 1
