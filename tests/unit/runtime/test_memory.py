"""A memory of fixes, driven by hand: lessons in, fixes out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Barrier, Thread
from typing import Any

import pytest

from lapse.contract import (
    A0,
    A1,
    A2D,
    CacheHint,
    Consumption,
    Envelope,
    EvictionPolicy,
    Lesson,
    Moved,
    RowVersion,
    Suggestion,
    TableChanges,
)
from lapse.errors import InvalidValue, StoreClosed, StoreFull, UnknownRecord
from lapse.ledger import (
    Change,
    ChangeKind,
    Draft,
    Head,
    Interval,
    Kind,
    Record,
    Scope,
    Source,
    State,
    Status,
    Store,
    fold,
    genesis,
    seal,
    writing,
)
from lapse.runtime import Event, Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds

HERE = "https://api.example"
CODES = Source.table(HERE, "codes")


class Failing:
    """Implements `lapse.ledger.Store` over another one; the methods named in `broken` fail."""

    def __init__(self, store: Store, *broken: str) -> None:
        self.behind = store
        self.broken = set(broken)

    def _check(self, method: str) -> None:
        if method in self.broken:
            raise StoreFull(f"{method} does not work today")

    @property
    def ledger(self) -> str:
        return self.behind.ledger

    def head(self) -> Head:
        self._check("head")
        return self.behind.head()

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        self._check("append")
        self.behind.append(changes, after=after)

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        self._check("changes")
        return self.behind.changes(after=after, record=record, sources=sources)

    def state(self) -> State:
        self._check("state")
        return self.behind.state()

    def close(self) -> None:
        self.behind.close()


def opened(store: Store | None = None, policy: EvictionPolicy = A2D, prefix: str = "r") -> Memory:
    place = InMemoryStore(ids=SequenceIds()) if store is None else store
    return Memory(place, clock=ManualClock(1), ids=SequenceIds(prefix), policy=policy)


def fix(key: str = "a", value: object = "1", row: str = "x", **members: Any) -> Suggestion:
    whole: dict[str, Any] = {
        "type": "SET",
        "parameters": {"value": value},
        "cache_hint": CacheHint.CACHEABLE,
        "table": "codes",
        "rows": (RowVersion("codes", key, row),),
        "when": {"key": key},
    }
    return Suggestion(**{**whole, **members})


def lesson(
    *suggestions: Suggestion, codes: str | None = "v1", issuer: str = HERE, **versions: str
) -> Lesson:
    known = {**({} if codes is None else {"codes": codes}), **versions}
    envelope = Envelope(suggestions=suggestions, table_versions=known, rules_version="r1")
    return Lesson(issuer=issuer, operation="POST /x", request=None, envelope=envelope, at=5)


def take(
    memory: Memory,
    told: Lesson,
    rows: Mapping[str, str | None] | None = None,
    *,
    now: str | None = None,
) -> list[Moved]:
    """Take a response in; every question is answered: these rows changed, it is at `now`.

    Returns the questions.
    """
    asked: list[Moved] = []
    steps = memory.receive(told)
    answer = None
    while True:
        try:
            question = steps.send(answer)
        except StopIteration:
            return asked
        asked.append(question)
        answer = TableChanges(
            table=question.source.name,
            since=question.was or "",
            version=now or question.now,
            complete=True,
            rows=rows or {},
        )


def begin(memory: Memory, told: Lesson) -> Moved:
    """Take a response in as far as its first question."""
    return next(memory.receive(told))


def serves(memory: Memory, issuer: str | None = HERE) -> list[object]:
    return [fix.parameters["value"] for fix in memory.fixes("POST /x", issuer=issuer)]


def is_the_fold(store: Store) -> bool:
    return fold(genesis(store.ledger), store.changes()) == store.state()


# -- taking in -------------------------------------------------------------------------------------


def test_a_response_is_asked_about_once_and_then_known() -> None:
    memory = opened()
    assert take(memory, lesson(fix())) == [Moved(CODES, "v1", "v1")]
    assert take(memory, lesson(fix("b", "2"))) == []
    assert take(memory, lesson(codes="v2"), {"a": "y"}) == [Moved(CODES, "v1", "v2")]
    assert serves(memory) == ["2"]
    assert is_the_fold(memory.store)


def test_what_moved_is_held_while_the_service_thinks_and_when_nobody_asks_on() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    assert begin(memory, lesson(codes="v2")) == Moved(CODES, "v1", "v2")
    assert serves(memory) == []
    assert serves(opened(memory.store)) == []
    assert take(memory, lesson(codes="v2")) == [Moved(CODES, "v1", "v2")]
    assert serves(memory) == ["1"]


def test_no_answer_keeps_it_held_until_one_comes() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    steps = memory.receive(lesson(codes="v2"))
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(None)
    assert serves(memory) == []
    assert not memory.unchanged(HERE, {"codes": "v2"}, "r1")
    take(memory, lesson(codes="v2"))
    assert serves(memory) == ["1"]


def test_an_answer_that_is_newer_than_the_response_is_not_asked_about_for_ever() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    asked = take(memory, lesson(codes="v2"), now="v3")
    assert asked == [Moved(CODES, "v1", "v2"), Moved(CODES, "v3", "v2")]
    assert serves(memory) == ["1"]
    marks = dict(memory.store.state().marks())
    assert take(memory, lesson(codes="v2"), now="v3") == [Moved(CODES, "v3", "v2")]
    assert (serves(memory), memory.store.state().marks()) == (["1"], marks)


def test_a_service_that_moves_on_with_every_answer_is_given_up_on() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    steps = memory.receive(lesson(codes="v2"))
    asked = [next(steps)]
    with suppress(StopIteration):
        while len(asked) < 100:
            since, version = asked[-1].was or "", f"n{len(asked)}"
            answer = TableChanges(table="codes", since=since, version=version, complete=True)
            asked.append(steps.send(answer))
    assert len(asked) < 10
    assert serves(memory) == ["1"]  # by the last word of the service


@pytest.mark.parametrize(
    ("versions", "rules", "same"),
    [
        ({"codes": "v1"}, "r1", True),
        ({"codes": "v2"}, "r1", False),
        ({"codes": "v1", "more": "1"}, "r1", False),
        ({}, "r1", False),
        (None, "r1", False),
        ({"codes": "v1"}, "r2", False),
        ({"codes": "v1"}, None, False),
    ],
)
def test_a_response_like_the_last_one_is_recognised(
    versions: Mapping[str, str] | None, rules: str | None, *, same: bool
) -> None:
    memory = opened()
    assert not memory.unchanged(HERE, {"codes": "v1"}, "r1")
    take(memory, lesson())
    assert memory.unchanged(HERE, versions, rules) is same
    assert not memory.unchanged("https://other.example", versions, rules)


def test_what_another_process_wrote_since_makes_the_next_response_count() -> None:
    store = InMemoryStore(ids=SequenceIds())
    one, other = opened(store), opened(store.again(), prefix="o")
    take(one, lesson(fix()))
    take(one, lesson())
    assert one.unchanged(HERE, {"codes": "v1"}, "r1")
    take(other, lesson(fix("a", "2", "y"), codes="v2"), {"a": "y"})
    assert serves(one) == ["2"]
    assert not one.unchanged(HERE, {"codes": "v1"}, "r1")


def test_a_policy_without_memory_keeps_nothing_and_writes_nothing() -> None:
    memory = opened(policy=A0)
    head = memory.store.head()
    assert take(memory, lesson(fix())) == []
    assert memory.store.head() == head
    assert memory.counters == {"refused": 1}
    assert memory.unchanged(HERE, {"codes": "v1"}, "r1")


def test_memory_without_invalidation_serves_whatever_it_was_told() -> None:
    memory = opened(policy=A1)
    take(memory, lesson(fix()))
    take(memory, lesson(fix(value="2"), codes="v2"))
    assert serves(memory) == ["1", "2"]
    assert take(memory, lesson(codes="v3")) == []
    assert serves(opened(memory.store, policy=A2D)) == []  # nothing could ever evict them


# -- a store that fails ----------------------------------------------------------------------------


def test_fixes_are_withheld_when_the_news_could_not_be_written() -> None:
    store = Failing(InMemoryStore(ids=SequenceIds()))
    memory = opened(store)
    take(memory, lesson(fix(), fix("b", table="tokens", rows=()), tokens="t1"))
    (slot, _) = (record.slot for record in memory.records())
    store.broken = {"append"}
    with pytest.raises(StoreFull):
        take(memory, lesson(codes="v2", tokens="t1"))
    assert serves(memory) == []
    assert memory.get(HERE, slot) is None
    assert not memory.unchanged(HERE, {"codes": "v2", "tokens": "t1"}, "r1")
    store.broken = set()
    assert serves(memory) == []  # no time heals it
    take(memory, lesson(codes="v2", tokens="t1"))
    assert serves(memory) == ["1", "1"]


def test_a_response_without_versions_does_not_end_the_doubt() -> None:
    store = Failing(InMemoryStore(ids=SequenceIds()))
    memory = opened(store)
    take(memory, lesson(fix()))
    store.broken = {"append"}
    with pytest.raises(StoreFull):
        take(memory, lesson(codes="v2"))
    store.broken = set()
    silent = Envelope(rules_version="r1")
    take(memory, Lesson(issuer=HERE, operation="POST /x", request=None, envelope=silent, at=5))
    assert serves(memory) == []


@pytest.mark.parametrize("broken", ["head", "append", "changes", "state"])
def test_a_failing_store_never_makes_the_memory_serve_more(broken: str) -> None:
    store = Failing(InMemoryStore(ids=SequenceIds()))
    memory = opened(store)
    take(memory, lesson(fix()))
    store.broken = {broken}
    for told in (lesson(fix("b"), codes="v2"), lesson(codes="v3")):
        try:
            take(memory, told, {"a": "y"})
        except StoreFull:
            continue
    store.broken = set()
    assert "1" not in serves(memory) or broken in ("changes", "state")
    assert is_the_fold(store)


# -- giving out ------------------------------------------------------------------------------------


def test_whose_fixes_has_to_be_said_when_there_are_several_issuers() -> None:
    memory = opened()
    assert memory.fixes("POST /x") == ()
    take(memory, lesson(fix()))
    assert serves(memory, issuer=None) == ["1"]
    take(memory, lesson(fix(), issuer="https://other.example"))
    with pytest.raises(InvalidValue, match=r"api\.example.*other\.example"):
        memory.fixes("POST /x")


def test_other_things_of_the_same_topic_are_not_taken_for_fixes() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    fact = Record(
        id="fact",
        kind=Kind.FACT,
        slot="s",
        topic="POST /x",
        issuer=HERE,
        content={"text": "hello"},
        valid=Interval(0),
    )
    put(memory, fact)
    assert serves(memory) == ["1"]
    assert memory.get(HERE, "s") == fact


def put(memory: Memory, record: Record) -> None:
    """Write a record past the memory, as another engine would."""
    state = memory.store.state()
    drafts = writing(state, record, at=0, reason="noted", actor="test", salt="s")
    memory.store.append(seal(drafts, state.head), after=state.head)
    len(memory)  # it catches up


def test_a_brief_words_what_holds() -> None:
    memory = opened()
    assert memory.brief("POST /x", {"key": "a"}) == ""
    take(memory, lesson(fix()))
    assert '{"key": "a", "value": "1"}' in memory.brief("POST /x", {"key": "a"})
    assert memory.brief("POST /x", {"key": "b"}) == ""
    patch = memory.brief("POST /x", {"key": "a"}, issuer=HERE, level=Consumption.PATCH)
    assert '- {"parameters": {"value": "1"}, "type": "SET"}' in patch


def test_a_slot_gives_its_newest_record_that_holds() -> None:
    memory = opened(policy=A2D)
    take(memory, lesson(fix(value="1"), fix(value="2")))
    slot = memory.records()[0].slot
    found = memory.get(HERE, slot)
    assert found is not None
    assert found.content["parameters"] == {"value": "2"}
    begin(memory, lesson(codes="v2"))
    assert memory.get(HERE, slot) is None
    assert memory.get(HERE, "unknown") is None
    assert memory.get("https://other.example", slot) is None


# -- looking and removing --------------------------------------------------------------------------


def test_what_is_held_back_shows_as_suspended_whatever_is_listed() -> None:
    memory = opened()
    take(memory, lesson(fix("a"), fix("b", table="tokens", rows=()), tokens="t1"))
    take(memory, lesson(fix("a", "2", "y"), codes="v2", tokens="t1"), {"a": "y"})
    begin(memory, lesson(codes="v3", tokens="t1"))
    statuses = {record.id: record.status for record in memory.records(live=False)}
    assert sorted(statuses.values()) == [Status.ACTIVE, Status.EVICTED, Status.SUSPENDED]
    assert len(memory.records()) == len(memory) == 2
    assert {i: memory.record(i).status for i in statuses} == statuses


def test_why_tells_the_whole_story() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    (record,) = memory.records()
    take(memory, lesson(codes="v2"))
    take(memory, lesson(codes="v3"), {"a": "y"})
    assert [(c.what, c.reason) for c in memory.why(record.id)] == [
        (ChangeKind.WRITTEN, "learned"),
        (ChangeKind.OBSERVED, "awaiting_diff"),
        (ChangeKind.ADVANCED, "row_unchanged"),
        (ChangeKind.OBSERVED, "awaiting_diff"),
        (ChangeKind.EVICTED, "row_moved"),
    ]
    with pytest.raises(UnknownRecord):
        memory.why("nobody")


def test_a_purge_takes_the_content_and_leaves_a_tombstone() -> None:
    memory = opened()
    take(memory, lesson(fix("a", "secret"), fix("b")))
    first, second = memory.records()
    events: list[Event] = []
    memory.observe(events.append)
    assert memory.purge([first.id, first.id], reason="gdpr", actor="ops") == 1
    assert memory.purge([first.id]) == memory.purge([]) == 0
    assert [(e.what, e.reason, e.record) for e in events] == [("purged", "gdpr", first.id)]
    assert memory.records(live=False) == (second, Record.purged(first.id))
    assert all(b"secret" not in (p.body or b"") for c in memory.store.changes() for p in c.parts)
    assert [(c.what, c.detail) for c in memory.why(first.id)][-1] == (ChangeKind.PURGED, None)
    assert is_the_fold(memory.store)


def test_an_unknown_id_purges_nothing() -> None:
    memory = opened()
    take(memory, lesson(fix()))
    (record,) = memory.records()
    with pytest.raises(UnknownRecord):
        memory.purge([record.id, "nobody"])
    assert memory.records() == (record,)


def test_a_scope_is_purged_by_the_respects_that_are_given() -> None:
    memory = opened()
    scopes = {
        "all": Scope(),
        "acme": Scope(tenant="acme"),
        "acme ann": Scope(tenant="acme", principal="ann"),
        "other ann": Scope(tenant="other", principal="ann"),
    }
    for name, scope in scopes.items():
        put(
            memory,
            Record(
                id=name,
                kind=Kind.FACT,
                slot=name,
                content={},
                valid=Interval(0),
                scope=scope,
                issuer=HERE if name == "all" else "",
            ),
        )
    assert memory.purge_scope(Scope(tenant="acme", principal="ann")) == 1
    assert memory.purge_scope(Scope(principal="ann")) == 1
    assert memory.purge_scope(Scope(tenant="nobody")) == 0
    assert memory.purge_scope(Scope(tenant="acme"), issuer=HERE) == 0
    assert memory.purge_scope(Scope(), issuer=HERE) == 1
    assert [record.id for record in memory.records()] == ["acme"]


def test_everything_is_not_a_scope() -> None:
    with pytest.raises(InvalidValue, match="at least one"):
        opened().purge_scope(Scope())


# -- telling and life ------------------------------------------------------------------------------


def test_what_transports_report_is_told_with_its_place() -> None:
    memory = opened()
    events: list[Event] = []
    memory.observe(events.append)
    memory.refused(HERE, "too_large", "body")
    memory.failed(HERE, TimeoutError())
    memory.count("questions", 2)
    assert events == [
        Event(what="refused", reason="too_large", at=1, issuer=HERE, where="body"),
        Event(what="failed", reason="TimeoutError", at=1, issuer=HERE),
    ]
    assert memory.counters == {"refused": 1, "failed": 1, "questions": 2}


def test_a_closed_memory_says_so() -> None:
    with opened() as memory:
        take(memory, lesson(fix()))
    memory.close()
    with pytest.raises(StoreClosed):
        memory.fixes("POST /x")


# -- several at once -------------------------------------------------------------------------------


def test_a_fix_that_one_handle_evicts_is_not_served_by_another() -> None:
    store = InMemoryStore(ids=SequenceIds())
    one, other = opened(store), opened(store.again(), prefix="o")
    take(one, lesson(fix()))
    assert serves(other) == ["1"]
    take(other, lesson(codes="v2"), {"a": "y"})
    assert serves(one) == []
    assert one.records() == ()


def test_a_table_that_another_process_settled_in_between_is_asked_about_anew() -> None:
    store = InMemoryStore(ids=SequenceIds())
    one, other = opened(store), opened(store.again(), prefix="o")
    take(one, lesson(fix()))
    steps = one.receive(lesson(codes="v3"))
    assert next(steps) == Moved(CODES, "v1", "v3")
    take(other, lesson(codes="v2"))
    late = TableChanges(table="codes", since="v1", version="v3", complete=True)
    assert steps.send(late) == Moved(CODES, "v2", "v3")
    with pytest.raises(StopIteration):
        steps.send(TableChanges(table="codes", since="v2", version="v3", complete=True))
    assert serves(one) == serves(other) == ["1"]


def test_many_threads_on_one_memory_leave_the_fold_of_its_changes() -> None:
    memory = opened()
    take(memory, lesson(fix("seed")))
    start = Barrier(6)
    failures: list[Exception] = []

    def agent(number: int) -> None:
        start.wait()
        try:
            for turn in range(12):
                version = f"v{turn // 3}"
                key = f"{number}-{turn % 4}"
                take(memory, lesson(fix(key, turn, f"x{turn}"), codes=version), {key: None})
                serves(memory)
                memory.records(live=False)
                if turn % 5 == 4:
                    memory.purge([record.id for record in memory.records(live=False)][-1:])
        except Exception as failure:  # noqa: BLE001 - shown by the assertion below
            failures.append(failure)

    threads = [Thread(target=agent, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert is_the_fold(memory.store)
    assert opened(memory.store).records(live=False) == memory.records(live=False)


def test_an_empty_draft_is_never_written() -> None:
    with pytest.raises(InvalidValue):
        Draft(kind=ChangeKind.PURGED, at=0, reason="r", actor="a")
