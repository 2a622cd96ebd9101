"""Laws of admission, over random workspaces and whatever a judge answers."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lapse.admission import (
    RANKS,
    Blocked,
    Budget,
    Captured,
    Eligible,
    Epochs,
    Fallen,
    Judgement,
    Pair,
    Policy,
    Reason,
    Refusal,
    Refused,
    ReturnView,
    Sealed,
    Selected,
    Selector,
    SignedView,
    Verdict,
    WorkItem,
    admit,
    judge,
    measure,
    open_view,
    select,
    sign,
)
from lapse.ledger import Interval, Kind, Source, Stamp, Status, digest
from lapse.signing import HmacKeys
from lapse.testing.workspace import OBSERVER, leaving, resting_on, returning, statement

KEYS = HmacKeys({"k1": b"1" * 32}, sign_with="k1")
POLICY = Policy(observers=frozenset({OBSERVER}), budget=Budget(items=50, chars=4096))
DEPENDENCIES = ("a", "b", "c")
NAMES = tuple(f"i{n}" for n in range(6))

dependencies = st.lists(st.sampled_from(DEPENDENCIES), max_size=3).map(tuple)
OWED = (
    statement("o1", kind=Kind.OBLIGATION, required=("a", "b"), critical=("a",)),
    statement("o2", kind=Kind.OBLIGATION, required=("b", "c"), critical=("c",)),
    statement("f1", kind=Kind.FRONTIER, obligation="o1"),
    statement("f2", kind=Kind.FRONTIER, obligation="o2"),
)


TEXTS = ("same", "other", "third")


@st.composite
def premises(draw: st.DrawFn, own: str) -> tuple[Stamp, ...]:
    """Now and then something that an item takes for granted: a slot, at some worth."""
    slots = draw(st.sets(st.sampled_from(["s1", "s2", *NAMES]), max_size=1)) - {own}
    if not slots or draw(st.booleans()):
        return ()
    worths = st.sampled_from([digest(text.encode()) for text in TEXTS]) | st.none()
    return tuple(Stamp(Source.premise("", slot), draw(worths)) for slot in slots)


@st.composite
def workspaces(draw: st.DrawFn) -> tuple[WorkItem, ...]:
    """Items from before and after the departure, linked, ranked, resting on each other."""
    items: list[WorkItem] = []
    for name in NAMES:
        since = draw(st.integers(1, 19))
        fields: dict[str, Any] = {
            "slot": draw(st.sampled_from(["s1", "s2", name])),
            "writer": draw(st.sampled_from(["A2", "A3"])),
            "authority": draw(st.sampled_from(list(RANKS))),
            "epochs": Epochs(since, draw(st.none() | st.integers(since, 25))),
            "valid": Interval(since, draw(st.none() | st.integers(since, 25))),
            "supports": draw(dependencies),
            "replaces": tuple(draw(st.sets(st.sampled_from(NAMES), max_size=2)) - {name}),
            "status": draw(st.sampled_from([Status.ACTIVE] * 6 + [Status.EVICTED])),
        }
        rests_on = tuple(draw(st.lists(st.sampled_from(items), max_size=1))) if items else ()
        fields["stamps"] = (*resting_on(*rests_on), *draw(premises(fields["slot"])))
        text = draw(st.sampled_from(TEXTS))
        items.append(statement(name, text, rests_on=rests_on, **fields))
    return (*items, *OWED)


answers_given = st.dictionaries(
    st.builds(Pair, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.sampled_from([*Verdict, None]) | st.just(ValueError("down")),
    max_size=8,
)
scanned_given = st.fixed_dictionaries(
    {}, optional={name: st.lists(st.sampled_from(NAMES), max_size=2) for name in NAMES}
)


def every_scan(items: tuple[WorkItem, ...], answers: dict[Pair, object]) -> dict[str, object]:
    """Scans that offer what was answered and let everything else stand, so that much survives."""
    captured = Captured(returning(departure(items), *items), POLICY)
    return {
        scan.older.id: [i.id for i in scan.later if Pair(scan.older.id, i.id) in answers]
        for scan in captured.next().scans
    }


def departure(items: tuple[WorkItem, ...]) -> Any:
    """A1 leaves with what was written by then."""
    return leaving(*(item for item in items if item.epochs.since <= 10))


def eligible(
    items: tuple[WorkItem, ...],
    answers: dict[Pair, object],
    *,
    before: tuple[WorkItem, ...],
    scanned: dict[str, object],
) -> Eligible:
    """The cycle up to the gates."""
    checkpoint = returning(departure(before), *items)
    return Captured(checkpoint, POLICY).next().next(scanned, answers).next()


@given(workspaces(), answers_given, st.randoms(use_true_random=False))
def test_no_order_of_independent_updates_matters(
    items: tuple[WorkItem, ...], answers: dict[Pair, object], chance: random.Random
) -> None:
    scanned = every_scan(items, answers)
    shuffled = list(items)
    chance.shuffle(shuffled)
    one, other = returning(departure(items), *items), returning(departure(items), *shuffled)
    assert one.digest() == other.digest()
    ended = [admit(c, POLICY, scanned=scanned, answers=answers, signer=KEYS) for c in (one, other)]
    assert ended[0] == ended[1]


@given(workspaces(), answers_given, st.sampled_from(NAMES))
def test_a_revocation_admits_nothing_unless_somebody_replaces_the_revoked(
    items: tuple[WorkItem, ...], answers: dict[Pair, object], name: str
) -> None:
    # What was never true breaks nothing, so what was inferred from it goes with it.
    answers = {pair: answer for pair, answer in answers.items() if pair.later != name}
    scanned = every_scan(items, answers)
    revoked = tuple(item.with_status(Status.REVOKED) if item.id == name else item for item in items)
    before = eligible(items, answers, before=items, scanned=scanned)
    after = eligible(revoked, answers, before=items, scanned=scanned)
    gained = after.digests().keys() - before.digests().keys()
    by_id = {item.id: item for item in items}
    over_it = [i for i in items if name in i.replaces and i.writer != by_id[name].writer]
    if not over_it:
        assert gained == set()
    concerned = {by_id[name].slot, *(item.slot for item in over_it)}
    for item_id in gained:
        assert concerned & {by_id[one].slot for one in (item_id, *roots(item_id, by_id))}
    assert name not in after.digests()


def roots(item_id: str, by_id: dict[str, WorkItem]) -> list[str]:
    """Everything that an item rests on, or that speaks about what it takes for granted."""
    found: list[str] = []
    waiting = [item_id]
    while waiting:
        item = by_id[waiting.pop()]
        slots = {slot for slot, _ in item.assumes}
        under = [*item.rests_on, *(name for name, other in by_id.items() if other.slot in slots)]
        waiting += (name for name in under if name not in found)
        found += under
    return found


@given(workspaces(), answers_given, scanned_given)
def test_zero_gates_admit_nothing_whatever_is_answered(
    items: tuple[WorkItem, ...], answers: dict[Pair, object], scanned: dict[str, object]
) -> None:
    policy = replace(POLICY, gates=())
    checkpoint = returning(departure(items), *items)
    found = admit(checkpoint, policy, scanned=scanned, answers=answers, signer=KEYS)
    assert isinstance(found, Blocked)
    assert found.eligible.digests() == {}


@given(workspaces(), answers_given, scanned_given)
def test_what_is_shown_is_eligible_and_covers_all_that_is_owed(
    items: tuple[WorkItem, ...], answers: dict[Pair, object], scanned: dict[str, object]
) -> None:
    checkpoint = returning(departure(items), *items)
    found = admit(checkpoint, POLICY, scanned=scanned, answers=answers, signer=KEYS)
    if isinstance(found, Blocked):
        assert found.failures
        return
    assert {item.id for item in found.view.items} <= found.eligible.digests().keys()
    assert (found.view.coverage.cov, found.view.coverage.crit) == (1, 1)
    everything = {j.item.id for j in found.eligible.judgements}
    shown = {item.id for item in found.view.items}
    assert found.left_out.keys() == everything - shown
    assert all(found.left_out.values())


# -- inference -----------------------------------------------------------------------------------

MEANING: dict[object, Reason | None] = {
    Verdict.STANDS: None,
    Verdict.INVALIDATES: Reason.INVALIDATED,
    Verdict.UNSURE: Reason.UNVERIFIED,
    None: Reason.ANSWER_MALFORMED,
    "missing": Reason.UNANSWERED,
    "raised": Reason.VERIFIER_RAISED,
}


@given(workspaces(), scanned_given, st.data())
def test_the_latest_verified_break_counts_and_a_failure_leaves_out_for_its_reason(
    items: tuple[WorkItem, ...], scanned: dict[str, object], data: st.DataObject
) -> None:
    screened = Captured(returning(departure(items), *items), POLICY).next()
    proposals = screened.proposals(scanned)
    said = {
        question.pair: data.draw(st.sampled_from(list(MEANING)), label=str(question.pair))
        for question in proposals.questions
    }
    failed = {"raised": ValueError("down")}
    answers = {pair: failed.get(str(one), one) for pair, one in said.items() if one != "missing"}
    fallen = judge(proposals, answers)
    admitted = screened.next(scanned, answers).next().digests()
    by_id = {item.id: item for item in items}
    assert all(q.older.moment < q.later.moment for q in proposals.questions)
    for scan in screened.scans:
        older = scan.older.id
        reasons = {pair.later: MEANING[one] for pair, one in said.items() if pair.older == older}
        breaks = [name for name, reason in reasons.items() if reason is Reason.INVALIDATED]
        found = fallen.get(older)
        if older in proposals.fallen:
            assert found == proposals.fallen[older]
            assert proposals.fallen[older].reason in (Reason.UNSCANNED, Reason.SCAN_MALFORMED)
        elif breaks:
            latest = max(breaks, key=lambda name: (by_id[name].moment, name))
            assert found == Fallen(Reason.INVALIDATED, latest)
        elif any(reasons.values()):
            assert found is not None
            assert found.reason is reasons[found.by]
        else:
            assert found is None
        assert found is None or older not in admitted


# -- coverage and selection ----------------------------------------------------------------------

evidence = st.lists(st.tuples(dependencies, st.integers(1, 40)), max_size=8).map(
    lambda drawn: tuple(
        statement(f"e{n}", "x" * length, supports=supports)
        for n, (supports, length) in enumerate(drawn)
    )
)
budgets = st.builds(Budget, items=st.integers(4, 9), chars=st.integers(40, 200))


def judged(items: tuple[WorkItem, ...]) -> tuple[Judgement, ...]:
    return tuple(Judgement(item, ()) for item in (*OWED, *items))


@given(evidence, st.sets(st.sampled_from(DEPENDENCIES)), st.sets(st.sampled_from(DEPENDENCIES)))
def test_both_measures_grow_with_what_is_supported(
    items: tuple[WorkItem, ...], some: set[str], more: set[str]
) -> None:
    obligations = select(judged(items), POLICY.budget).obligations
    less, greater = measure(obligations, some), measure(obligations, some | more)
    assert less.cov <= greater.cov
    assert less.crit <= greater.crit
    assert (measure((), some).cov, measure((), some).crit) == (1, 1)


@given(evidence, budgets)
def test_the_choice_is_that_of_a_greedy_selector_that_looks_at_everything_each_time(
    items: tuple[WorkItem, ...], budget: Budget
) -> None:
    found = select(judged(items), budget, selector=Selector.GREEDY)
    weights = {"a": 2, "b": 1, "c": 2}
    supported: set[str] = set()
    chars = sum(len(item.text) for item in OWED)
    expected: list[str] = []
    left = {item.id: item for item in items}
    while left and len(expected) + len(OWED) < budget.items:
        gains = {
            name: sum(weights[d] for d in item.supports if d not in supported)
            for name, item in left.items()
        }
        fitting = [n for n, i in left.items() if gains[n] and chars + len(i.text) <= budget.chars]
        if not fitting:
            break
        best = min(
            fitting,
            key=lambda n: (-gains[n] / len(left[n].text), -gains[n], len(left[n].text), n),
        )
        item = left.pop(best)
        expected.append(best)
        chars += len(item.text)
        supported.update(item.supports)
    assert [item.id for item in found.items[4:]] == expected
    assert len(found.items) <= budget.items
    if expected:
        assert found.chars <= budget.chars


@given(evidence, st.data())
def test_with_room_for_all_less_evidence_never_covers_more(
    items: tuple[WorkItem, ...], data: st.DataObject
) -> None:
    fewer = tuple(item for item in items if data.draw(st.booleans()))
    some, every = select(judged(fewer), POLICY.budget), select(judged(items), POLICY.budget)
    assert some.supported <= every.supported
    assert set(every.failures) <= set(some.failures)


# -- views ---------------------------------------------------------------------------------------


@st.composite
def views(draw: st.DrawFn) -> ReturnView:
    """A view of some of a workspace."""
    items = draw(workspaces())
    found = Selected(
        eligible(items, {}, before=items, scanned=every_scan(items, {})),
        select(judged(items[:6]), POLICY.budget),
    ).next(KEYS)
    assert isinstance(found, Sealed)
    return found.view


@given(views())
def test_opening_what_was_sealed_gives_it_back(view: ReturnView) -> None:
    signed = sign(view, KEYS)
    assert open_view(signed, KEYS) == view
    assert sign(view, KEYS) == signed


@given(views(), st.data())
def test_any_flipped_bit_is_refused(view: ReturnView, data: st.DataObject) -> None:
    signed = sign(view, KEYS)
    where = data.draw(st.sampled_from(["body", "signature", "key"]))
    whole = signed.key.encode() if where == "key" else getattr(signed, where)
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    value = bytes(flipped).decode("latin-1") if where == "key" else bytes(flipped)
    forged: SignedView = replace(signed, **{where: value})
    assert open_view(forged, KEYS) == Refused((Refusal.SIGNATURE_INVALID,))
