"""Laws of digests and of deciding again: a part that changed gives what the whole gives."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.admission import (
    GATES,
    RANKS,
    Blocked,
    Budget,
    Departure,
    Epochs,
    Gate,
    Policy,
    Readmission,
    Reason,
    Sealed,
    Selector,
    Verdict,
    WorkItem,
    admit,
    capture,
    difference,
    further,
    looked,
    merge,
    standing,
)
from lapse.admission.digests import Root, leaf
from lapse.errors import InvalidValue
from lapse.ledger import (
    Interval,
    Kind,
    Outcome,
    Scope,
    Source,
    Stamp,
    Status,
    canonical,
    digest,
)
from lapse.signing import HmacKeys
from lapse.testing.workspace import MEMBER, OBSERVER, leaving, receipt, returning, statement

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
items = st.builds(
    statement,
    st.sampled_from([f"i{n}" for n in range(40)]),
    texts,
    attributes=st.dictionaries(
        texts.map(lambda name: f"x{name}"), st.floats(-9, 9) | texts, max_size=2
    ),
)
sets_of_items = st.lists(items, max_size=12, unique_by=lambda item: item.id)


def by_hand(found: list[WorkItem]) -> str:
    """The root, from the four rules alone."""
    leaves: list[bytes] = []
    for item in found:
        seen = [[r.observer, list(r.source), r.at, r.digest, r.outcome] for r in item.receipts]
        said = hashlib.sha256(canonical([item.id, item.said()])).hexdigest()
        row = json.dumps([said, item.status, seen], ensure_ascii=False, separators=(",", ":"))
        leaves.append(hashlib.sha256(row.encode()).digest())
    lines = b"".join(
        bits.to_bytes(2, "big") + hashlib.sha256(b"".join(group)).digest()
        for bits, group in groupby(sorted(leaves), lambda one: int.from_bytes(one[:2], "big") >> 4)
    )
    return hashlib.sha256(lines).hexdigest()


@given(sets_of_items)
def test_anybody_can_recompute_the_root(found: list[WorkItem]) -> None:
    assert Root.of(found).hex() == by_hand(found)


@given(sets_of_items, sets_of_items)
def test_a_root_that_was_changed_is_the_root_of_what_is_there(
    before: list[WorkItem], after: list[WorkItem]
) -> None:
    root = Root.of(before)
    changed = root.changed(less=before, more=after)
    assert (changed.hex(), changed.count) == (Root.of(after).hex(), len(after))
    assert (root.hex(), root.count) == (by_hand(before), len(before))


@given(sets_of_items, st.data())
def test_any_change_of_any_item_changes_every_digest(
    found: list[WorkItem], data: st.DataObject
) -> None:
    found = [*found, statement("last")]
    at = data.draw(st.integers(0, len(found) - 1))
    item = found[at]
    others = [
        replace(item, id="other"),
        replace(item, slot="other"),
        replace(item, valid=Interval(2, 30)),
        replace(item, supports=("d",)),
        replace(item, receipts=(*item.receipts, receipt(Source.probe("desk", "x"), "", at=7))),
        replace(item, receipts=(replace(item.receipts[0], observer="other"),)),
        item.with_status(Status.DISPUTED),
    ]
    digests = {leaving(*found).digest(), returning(leaving(), *found).digest()}
    for other in others:
        changed = [*found[:at], other, *found[at + 1 :]]
        digests |= {leaving(*changed).digest(), returning(leaving(), *changed).digest()}
    assert len(digests) == 2 * (len(others) + 1)


@given(sets_of_items, sets_of_items)
def test_a_checkpoint_has_the_digest_of_its_items_however_it_came_about(
    before: list[WorkItem], now: list[WorkItem]
) -> None:
    had = {item.id: item for item in before}
    now = [replace(had[i.id], status=Status.DISPUTED) if i.id in had else i for i in now]
    found = returning(leaving(*before), *now)
    assert found.digest() == replace(found, items=tuple(found.items)).digest()
    assert found.root.hex() == by_hand(list(found.items))


def test_what_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(InvalidValue, match="less"):
        Root.of([statement("a")]).changed(less=[statement("b")], more=[])


def test_an_item_without_a_canonical_form_has_a_leaf_all_the_same() -> None:
    late = statement("late", valid=Interval(2**60))
    with pytest.raises(InvalidValue):
        late.digest()
    assert leaf(late) != leaf(replace(late, valid=Interval(2**60 + 1)))
    departure = capture([late], MEMBER, epoch=10, at=10)
    assert difference(departure, [late], epoch=11).departure == departure.digest()


def test_a_digest_says_what_it_covers() -> None:
    departure = leaving(statement("a"))
    head = ["lapse departure", 2, MEMBER.as_json(), 10, 10, 1, departure.root.hex()]
    assert departure.digest() == digest(canonical(head))


# -- deciding again ------------------------------------------------------------------------------

KEYS = HmacKeys({"k1": b"1" * 32}, sign_with="k1")
NAMES = tuple(f"i{n}" for n in range(9))
SLOTS: tuple[str, ...] = ("s1", "s2", "s3")
DEPENDENCIES = ("a", "b", "c")
POLICIES = (
    Policy(observers=frozenset({OBSERVER}), budget=Budget(items=9, chars=60)),
    Policy(observers=frozenset({OBSERVER}), budget=Budget(items=50, chars=4096)),
    Policy(
        observers=frozenset({OBSERVER}),
        budget=Budget(items=6, chars=100, coverage=0.5, critical=0.5),
        selector=Selector.GREEDY,
        unsafe_incomplete_views=True,
        unsafe_unbound_experience=True,
    ),
    Policy(
        observers=frozenset({OBSERVER}),
        unsafe_without_inference=True,
        unsafe_relevance={"i1": 0.5, "i4": 0.9},
    ),
    Policy(
        observers=frozenset({OBSERVER}),
        gates=(*GATES, Gate("crowded", lambda _, s: [Reason.TOO_LARGE] * (len(s.items) > 12))),
    ),
)


@st.composite
def workspaces(draw: st.DrawFn) -> dict[str, WorkItem]:
    """Items of every kind that are linked in every way, some not written yet, some not begun."""
    found: dict[str, WorkItem] = {}
    for name in NAMES:
        epoch = draw(st.integers(1, 30))
        kind = draw(st.sampled_from([Kind.FACT] * 4 + [Kind.CONSTRAINT, Kind.EXPERIENCE]))
        slot = draw(st.sampled_from([*SLOTS, name]))
        earlier = list(found.values())
        rests_on = (
            draw(st.lists(st.sampled_from(earlier), max_size=2, unique_by=id_of)) if earlier else []
        )
        assumed: set[str] = draw(st.sets(st.sampled_from(SLOTS), max_size=1)) - {slot}
        item = statement(
            name,
            draw(st.sampled_from(["same", "other", "third one"])),
            kind=kind,
            slot=slot,
            writer=draw(st.sampled_from(["A2", "A3"])),
            authority=draw(st.sampled_from(list(RANKS))),
            epochs=Epochs(epoch, draw(st.none() | st.integers(epoch, 34))),
            valid=Interval(epoch, draw(st.none() | st.integers(epoch, 34))),
            supports=draw(st.lists(st.sampled_from(DEPENDENCIES), max_size=2)),
            replaces=tuple(draw(st.sets(st.sampled_from(NAMES), max_size=1)) - {name}),
            value=draw(st.sampled_from(["", "v", "w"])),
            rests_on=tuple(rests_on),
            scope=draw(st.sampled_from([Scope(), MEMBER, Scope(principal="A9")])),
        )
        premises = [
            Stamp(Source.premise("", one), draw(st.sampled_from(["v", "w", None])))
            for one in sorted(assumed)
        ]
        found[name] = replace(item, stamps=(*item.stamps, *premises))
    for name in ("o1", "o2"):
        needs = tuple(draw(st.sets(st.sampled_from(DEPENDENCIES), min_size=1)))
        found[name] = statement(name, kind=Kind.OBLIGATION, required=needs, critical=needs[:1])
        found[f"f{name}"] = statement(f"f{name}", kind=Kind.FRONTIER, obligation=name)
    return found


def id_of(item: WorkItem) -> str:
    return item.id


def altered(draw: st.DataObject, now: dict[str, WorkItem], every: dict[str, WorkItem]) -> None:
    """A few changes, as a workspace makes them or a damaged one might."""
    for name in draw.draw(st.sets(st.sampled_from(sorted(every)), max_size=3)):
        step = draw.draw(st.sampled_from(["go", "status", "witness"]))
        if name not in now:
            now[name] = every[name]
        elif step == "go":
            del now[name]
        elif step == "status":
            now[name] = now[name].with_status(draw.draw(st.sampled_from([*STATUSES])))
        else:
            at = draw.draw(st.integers(1, 34))
            outcome = draw.draw(st.sampled_from(list(Outcome)))
            seen = receipt(Source.probe("desk", name), "", at=at, outcome=outcome)
            now[name] = replace(now[name], receipts=(*now[name].receipts, seen))


STATUSES = tuple(status for status in Status if status is not Status.PURGED)
unreadable: list[object] = [(), frozenset[str](), None, "i1", ValueError("down"), [3]]
answers_to_scans: st.SearchStrategy[object] = st.lists(
    st.sampled_from(NAMES), max_size=2
) | st.sampled_from(unreadable)
said: list[object] = [*Verdict, Verdict.STANDS, None, ValueError("down")]
verdicts = st.sampled_from(said)


def asked_and_answered(draw: st.DataObject, again: Readmission) -> None:
    """Some of the scans and questions are answered, and some of those well."""
    if draw.draw(st.booleans()):
        again.sweep({item.id: draw.draw(answers_to_scans) for item in again.came()})
    scanned: dict[str, object] = {}
    for scan in again.scans():
        if draw.draw(st.integers(0, 5)):
            last: object = [scan.later[-1].id]
            scanned[scan.older.id] = draw.draw(answers_to_scans | st.just(last) | st.just(()))
    again.look(scanned)
    again.answer({one.pair: draw.draw(verdicts) for one in again.questions()})


@given(workspaces(), st.sampled_from(POLICIES), st.sampled_from([0, 64]), st.data())
def test_a_return_decided_again_is_the_return_decided_from_the_start(
    every: dict[str, WorkItem], policy: Policy, many: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # With 0 nothing is many: as in a workspace so large that a few changes are few.
        patch.setattr(standing, "_MANY", many)
        patch.setattr(looked, "_MANY", many)
        decided_again(every, policy, data)


def decided_again(every: dict[str, WorkItem], policy: Policy, data: st.DataObject) -> None:
    """Random changes, answers and decisions, each against the whole cycle."""
    missing = data.draw(st.sets(st.sampled_from(sorted(every)), max_size=5))
    now = {name: item for name, item in every.items() if name not in missing}
    departure = leaving(*(item for item in now.values() if item.epochs.since <= 10))
    again = Readmission(returning(departure, *now.values(), epoch=15), policy)
    for turn, epoch in enumerate(data.draw(st.lists(st.integers(0, 6), max_size=4))):
        if data.draw(st.booleans()):
            asked_and_answered(data, again)
        if turn:
            assert again.next(KEYS) == from_the_start(departure, now, again, policy)
        altered(data, now, every)
        was = again.checkpoint.returning
        back = replace(was, cycle=f"{was.cycle}+", epoch=was.epoch + epoch, at=was.at + epoch)
        again.take(further(again.checkpoint, now.values(), epoch=back.epoch), back)
    asked_and_answered(data, again)
    assert again.next(KEYS) == from_the_start(departure, now, again, policy)


def from_the_start(
    departure: Departure, now: dict[str, WorkItem], again: Readmission, policy: Policy
) -> Sealed | Blocked:
    """The whole cycle over the same items and answers."""
    back = again.checkpoint.returning
    checkpoint = merge(departure, difference(departure, now.values(), epoch=back.epoch), back)
    assert checkpoint == again.checkpoint
    assert checkpoint.digest() == again.checkpoint.digest()
    return admit(checkpoint, policy, scanned=again.scanned, answers=again.answers, signer=KEYS)
