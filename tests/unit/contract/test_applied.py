"""What acceptance and refusal of an amended request do to the fixes that were in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.contract import A2D, CacheHint, Envelope, Lesson, RowVersion, Suggestion, TableChanges
from lapse.ledger import ChangeKind, Draft, Outcome, Part, Status, seal
from lapse.runtime import Event, Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds

ISSUER, OPERATION = "shop", "place"
TABLES = {"codes": "1"}


def offer(parameters: Mapping[str, Any], *, key: str = "a") -> Suggestion:
    """A suggestion that may be remembered."""
    return Suggestion(
        type="SET",
        parameters=dict(parameters),
        cache_hint=CacheHint.CACHEABLE,
        table="codes",
        rows=(RowVersion("codes", key, f"={key}"),),
        when={"key": key},
    )


class Scene:
    """A memory, and the answers that it hears."""

    def __init__(self) -> None:
        self.clock, ids = ManualClock(1), SequenceIds()
        self.memory = Memory(InMemoryStore(ids=ids), clock=self.clock, ids=ids, policy=A2D)
        self.events: list[Event] = []
        self.memory.observe(self.events.append)

    def hear(
        self,
        *offers: Suggestion,
        applied: tuple[str, ...] = (),
        accepted: bool | None = None,
        tables: Mapping[str, str] = TABLES,
    ) -> None:
        """One answer of the service."""
        self.clock.advance(seconds=1)
        envelope = Envelope(suggestions=offers, table_versions=dict(tables))
        lesson = Lesson(
            issuer=ISSUER,
            operation=OPERATION,
            request={"key": "a"},
            envelope=envelope,
            at=self.clock.now(),
            applied=applied,
            accepted=accepted,
        )
        steps = self.memory.receive(lesson)
        question = next(steps, None)
        while question is not None:
            since = question.was or ""
            rows = {} if question.now == since else {"a": "=moved"}
            answer = TableChanges(
                table="codes", since=since, version=question.now, complete=True, rows=rows
            )
            try:
                question = steps.send(answer)
            except StopIteration:
                question = None

    def learn(self, parameters: Mapping[str, Any]) -> str:
        """Learn a fix; its id."""
        self.hear(offer(parameters), accepted=False)
        return self.memory.fixes(OPERATION, {"key": "a"}, issuer=ISSUER)[-1].id

    def status(self, record: str) -> Status:
        return self.memory.record(record).status

    def outcomes(self, record: str) -> list[str]:
        receipts = self.memory.record(record).receipts
        return [r.outcome.value for r in receipts if r.source.issuer == "applied"]

    def serves(self) -> list[str]:
        return [fix.id for fix in self.memory.fixes(OPERATION, {"key": "a"}, issuer=ISSUER)]

    def told(self, what: str) -> list[str]:
        return [event.reason for event in self.events if event.what == what]


@pytest.mark.requirement("C-CLI-29")
def test_an_acceptance_confirms_the_fix_once() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    for _ in range(3):
        scene.hear(applied=(fix,), accepted=True)
    assert scene.outcomes(fix) == [Outcome.CONFIRMS]
    assert scene.told("confirmed") == ["applied"]


@pytest.mark.requirement("C-CLI-29")
def test_one_refusal_puts_the_fix_in_dispute_and_it_is_not_served() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix,), accepted=False)
    assert (scene.status(fix), scene.serves()) == (Status.DISPUTED, [])
    assert scene.outcomes(fix) == [Outcome.CONTRADICTS]
    assert scene.told("disputed") == ["applied_and_refused"]
    story = [(chapter.what.value, chapter.reason) for chapter in scene.memory.why(fix)]
    assert story == [
        ("written", "learned"),
        ("witnessed", "applied_and_refused"),
        ("disputed", "applied_and_refused"),
    ]


@pytest.mark.requirement("C-CLI-29")
def test_no_time_ends_a_dispute() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix,), accepted=False)
    scene.clock.advance(seconds=10**9)
    scene.hear()
    assert scene.serves() == []


@pytest.mark.requirement("C-CLI-29")
@pytest.mark.parametrize(
    ("offered", "status"),
    [
        ((), Status.DISPUTED),  # it says nothing: the fix may be what is wrong
        (({"campaign": "c"},), Status.ACTIVE),  # it objects to something else
        (({"ship": {"speed": "x"}},), Status.ACTIVE),
        (({"campaign": "c"}, {"ship": {"code": "B"}}), Status.DISPUTED),
        (({"ship": "x"},), Status.DISPUTED),  # around the field
        (({"ship": {"code": {"inner": 1}}},), Status.DISPUTED),  # in it
    ],
)
def test_a_refusal_that_is_about_other_fields_does_not_speak_against_the_fix(
    offered: tuple[dict[str, Any], ...], status: Status
) -> None:
    scene = Scene()
    fix = scene.learn({"ship": {"code": "A"}})
    others = [offer(parameters, key=f"other-{n}") for n, parameters in enumerate(offered)]
    scene.hear(*others, applied=(fix,), accepted=False)
    assert scene.status(fix) is status


@pytest.mark.requirement("C-CLI-29")
def test_the_same_answer_brings_a_fix_back_once_and_an_acceptance_gives_it_another_chance() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix,), accepted=False)
    scene.hear(offer({"code": "A"}), accepted=False)
    assert scene.serves() == [fix]
    assert scene.told("reinstated") == ["said_again"]
    scene.hear(applied=(fix,), accepted=True)
    scene.hear(applied=(fix,), accepted=False)
    scene.hear(offer({"code": "A"}), accepted=False)
    assert scene.serves() == [fix]  # it had been accepted in between
    scene.hear(applied=(fix,), accepted=False)
    scene.hear(offer({"code": "A"}), accepted=False)
    assert scene.serves() == []  # refused twice in a row
    assert scene.status(fix) is Status.DISPUTED


def test_another_answer_takes_the_place_of_a_disputed_fix() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix,), accepted=False)
    scene.hear(offer({"code": "B"}), accepted=False)
    assert scene.status(fix) is Status.SUPERSEDED
    assert len(scene.serves()) == 1


def test_an_answer_in_the_refusal_itself_takes_its_place_too() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(offer({"code": "B"}), applied=(fix,), accepted=False)
    assert scene.status(fix) is Status.SUPERSEDED
    assert scene.told("disputed") == []


def test_a_service_that_offers_what_it_refuses_is_not_believed() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(offer({"code": "A"}), applied=(fix,), accepted=False)
    assert scene.status(fix) is Status.DISPUTED


def test_a_refusal_for_a_row_that_moved_evicts_and_disputes_nothing() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix,), accepted=False, tables={"codes": "2"})
    assert scene.status(fix) is Status.EVICTED
    assert scene.told("disputed") == []


def test_what_failed_for_another_reason_says_nothing() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix,), accepted=None)
    assert (scene.status(fix), scene.outcomes(fix)) == (Status.ACTIVE, [])


def test_a_fix_that_is_disputed_for_another_reason_is_left_to_whoever_did_that() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    store = scene.memory.store
    part = Part.of(fix, {}, salt="s")
    draft = Draft(kind=ChangeKind.DISPUTED, at=9, reason="doubted", actor="user", parts=(part,))
    store.append(seal([draft], store.head()), after=store.head())
    scene.hear(offer({"code": "A"}), accepted=False)
    assert scene.status(fix) is Status.DISPUTED


def test_what_arrives_late_about_a_disputed_fix_changes_nothing() -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    scene.hear(applied=(fix, fix), accepted=False)
    scene.hear(applied=(fix,), accepted=True)  # it was on its way when the refusal came
    assert scene.outcomes(fix) == [Outcome.CONTRADICTS]


@settings(max_examples=60)
@given(steps=st.lists(st.sampled_from(["accept", "refuse", "say"]), max_size=12))
def test_law_a_liar_gets_a_fix_refused_twice_in_a_row_at_most(steps: list[str]) -> None:
    scene = Scene()
    fix = scene.learn({"code": "A"})
    refused_in_a_row = 0
    for step in steps:
        if step == "say":
            scene.hear(offer({"code": "A"}), accepted=False)
        elif scene.serves() == [fix]:
            scene.hear(applied=(fix,), accepted=step == "accept")
            refused_in_a_row = 0 if step == "accept" else refused_in_a_row + 1
        assert refused_in_a_row <= 2
