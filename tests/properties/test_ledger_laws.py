"""Laws of the ledger, over random histories that are legal by construction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.ledger import (
    AnchoredHead,
    Break,
    BreakKind,
    Change,
    ChangeKind,
    Draft,
    Head,
    Index,
    Intact,
    Interval,
    Kind,
    Part,
    Record,
    Scope,
    Source,
    Stamp,
    State,
    Store,
    examine,
    fold,
    genesis,
    seal,
    vector,
)
from lapse.storage import FileAnchor, InMemoryStore, TrustedStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import ManualClock, Scribe, SequenceIds

TABLES = [Source.table("i", name) for name in "tu"]
MOVABLE = [*TABLES, Source.rules("i"), Source.premise("w", "hotel")]
JUDGED = [
    ChangeKind.SUSPENDED,
    ChangeKind.REINSTATED,
    ChangeKind.DISPUTED,
    ChangeKind.SUPERSEDED,
    ChangeKind.REVOKED,
    ChangeKind.EVICTED,
    ChangeKind.APPLIED,
]

sources = st.one_of(
    st.sampled_from(MOVABLE),
    st.builds(Source.row, st.just("i"), st.sampled_from("tu"), st.sampled_from("123")),
    st.builds(Source.record, st.sampled_from(["r0", "r1"])),
)
vectors = st.lists(sources, max_size=4, unique=True)
contents = st.dictionaries(
    st.text(max_size=3), st.text(max_size=5) | st.integers() | st.booleans(), max_size=3
)


@dataclass(frozen=True, slots=True)
class Step:
    """One decision, in terms that always make sense: numbers pick among what is there."""

    what: str
    pick: int
    kind: ChangeKind
    rests_on: Sequence[Source]
    content: dict[str, object]
    version: str | None


steps = st.builds(
    Step,
    what=st.sampled_from(["write", "write", "judge", "witness", "observe", "advance", "purge"]),
    pick=st.integers(0, 7),
    kind=st.sampled_from(JUDGED),
    rests_on=vectors,
    content=contents,
    version=st.none() | st.sampled_from(["1", "2"]),
)
histories = st.lists(steps, min_size=1, max_size=25)


def record_of(number: int, step: Step, state: State) -> Record:
    """A record that may be written now: its stamps agree with the marks."""

    def at(source: Source) -> str | None:
        mark = state.mark(source)
        return "1" if mark is None else mark.reconciled

    stamps = [
        Stamp(source, "x", at(source.container))
        if source.kind == "row"
        else Stamp(source, at(source))
        for source in step.rests_on
    ]
    return Record(
        id=f"r{number}",
        kind=Kind.FACT,
        slot=f"s{step.pick % 2}",
        topic="t",
        issuer="i",
        content=step.content,
        valid=Interval(step.pick),
        stamps=vector(stamps),
    )


def drafts_of(scribe: Scribe, number: int, step: Step) -> Sequence[Draft]:
    """The step as drafts that the state allows; none when nothing fits."""
    state = scribe.expected
    there = sorted(state.records(), key=lambda record: record.id)
    match step.what:
        case "write":
            return scribe.written_by(record_of(number, step, state))
        case "observe" | "advance" as what:
            kind = ChangeKind.OBSERVED if what == "observe" else ChangeKind.ADVANCED
            return [scribe.moved(kind, MOVABLE[step.pick % len(MOVABLE)], step.version)]
        case "purge":
            return [scribe.purged(there[step.pick % len(there)].id)] if there else []
        case what:
            kind = ChangeKind.WITNESSED if what == "witness" else step.kind
            able = [record.id for record in there if record.status in kind.may_find]
            if not able:
                return []
            if kind is ChangeKind.WITNESSED:
                return [scribe.witnessed(able[step.pick % len(able)])]
            return [scribe.judged(kind, *able[: step.pick % len(able) + 1])]


def lived(store: Store, history: Sequence[Step]) -> tuple[Scribe, list[State]]:
    """A history carried out on a store, and the state after each of its changes."""
    scribe = Scribe(store)
    states = [copy_of(scribe.expected)]
    for number, step in enumerate(history):
        drafts = drafts_of(scribe, number, step)
        if not drafts:
            continue
        scribe.expected.check(scribe.sealed(*drafts))
        for change in scribe.carry_out(*drafts):
            if change.head != scribe.expected.head:
                continue
            states.append(copy_of(scribe.expected))
    return scribe, states


def copy_of(state: State) -> State:
    return State.restore(state.head, state.records(), state.marks())


def in_memory() -> InMemoryStore:
    return InMemoryStore(ids=SequenceIds("l"))


# -- the fold -------------------------------------------------------------------------------------


@given(histories)
def test_the_fold_of_a_prefix_is_the_state_then(history: list[Step]) -> None:
    scribe, states = lived(in_memory(), history)
    for state in states:
        assert fold(genesis("l-1"), scribe.written[: state.head.seq]) == state
        assert list(fold(genesis("l-1"), scribe.written[: state.head.seq])) == list(state)


@settings(max_examples=25)
@given(histories)
def test_every_store_keeps_what_its_changes_add_up_to(history: list[Step]) -> None:
    scribe, _ = lived(in_memory(), history)
    with TemporaryDirectory() as folder:
        file = SqliteStore(Path(folder) / "l.sqlite", ids=SequenceIds("l"), synchronous="normal")
        anchored = TrustedStore(file, FileAnchor(Path(folder) / "anchor"), clock=ManualClock())
        with closing(anchored):
            other, _ = lived(anchored, history)
            assert other.written == scribe.written
            for store in (scribe.store, file, anchored):
                stored = list(store.changes())
                assert store.state() == fold(genesis("l-1"), stored) == scribe.expected
                assert list(store.state()) == list(scribe.expected)
                assert isinstance(examine("l-1", stored, kept=store.state()), Intact)
            assert list(file.changes()) == list(scribe.store.changes())


@given(histories)
def test_a_purge_leaves_no_content_and_a_sound_chain(history: list[Step]) -> None:
    scribe, _ = lived(in_memory(), history)
    names = [record.id for record in scribe.expected.records()]
    if names:
        scribe.carry_out(scribe.purged(*names))
    changes = list(scribe.store.changes())
    assert all(part.body is None and part.salt == "" for c in changes for part in c.parts)
    digests = [[part.digest for part in change.parts] for change in changes]
    assert digests == [[part.digest for part in change.parts] for change in scribe.written]
    assert list(scribe.store.state().records()) == [Record.purged(name) for name in names] or {
        record.id for record in scribe.store.state().records()
    } == set(names)
    assert isinstance(examine("l-1", changes, kept=scribe.store.state()), Intact)


@given(histories)
def test_the_index_agrees_with_a_scan(history: list[Step]) -> None:
    scribe, states = lived(in_memory(), history)
    for state in (scribe.expected, *states[::5]):
        wanted: dict[Source, set[str]] = {}
        for record in state:
            for stamp in record.stamps:
                for source in (stamp.source, stamp.source.container):
                    wanted.setdefault(source, set()).add(record.id)
        index = state.index
        assert {source: set(index.on(source)) for source in index} == wanted
        assert len(index) == len(wanted)
        for source in (*wanted, Source.table("i", "none"), Source.row("i", "t", "none")):
            ids = list(index.on(source))
            assert len(ids) == len(set(ids)) == len(index.on(source))
            assert set(ids) == wanted.get(source, set())
            assert (source in index) is bool(ids)
            assert all(name in index.on(source) for name in ids)
            assert "nobody" not in index.on(source)
            direct = {r.id for r in state for stamp in r.stamps if stamp.source == source}
            assert set(index.directly_on(source)) == direct


@given(st.lists(st.tuples(st.integers(0, 40), vectors), max_size=80), st.randoms())
def test_an_index_forgets_what_was_taken_out(
    entries: list[tuple[int, list[Source]]], order: object
) -> None:
    def record(number: int, rests_on: list[Source]) -> Record:
        stamps = vector(Stamp(source, "1") for source in rests_on)
        return replace(Record.purged(f"r{number}"), stamps=stamps)

    records = {number: record(number, rests_on) for number, rests_on in entries}
    index = Index()
    for found in records.values():
        index.add(found)
    left = list(records.values())
    order.shuffle(left)  # type: ignore[attr-defined]  # Hypothesis's own Random
    while left:
        index.remove(left.pop())
        wanted = {
            source: {r.id for r in left if any(s.source in _with(source, r) for s in r.stamps)}
            for source in index
        }
        assert {source: set(index.on(source)) for source in index} == wanted
        assert all(wanted.values())
    assert len(index) == 0
    assert list(index) == []


def _with(source: Source, record: Record) -> set[Source]:
    """The record's sources that count as this one: itself, and the rows of a table."""
    return {s.source for s in record.stamps if source in (s.source, s.source.container)}


# -- the chain ------------------------------------------------------------------------------------


def sound(history: Sequence[Step]) -> tuple[list[Change], State]:
    scribe, _ = lived(in_memory(), history)
    return list(scribe.store.changes()), scribe.store.state()


def found_in(changes: Sequence[Change], kept: State | None, head: Head) -> Break:
    anchored = AnchoredHead(ledger="l-1", head=head, at=0)
    found = examine("l-1", changes, kept=kept, anchored=anchored)
    assert isinstance(found, Break)
    return found


def renumbered(changes: Sequence[Change]) -> list[Change]:
    return [replace(change, seq=number) for number, change in enumerate(changes, start=1)]


FIELDS = ["at", "reason", "actor", "version", "previous", "digest", "body", "salt", "drop"]


@given(histories, st.data())
def test_any_single_edit_is_tampering(history: list[Step], data: st.DataObject) -> None:
    changes, kept = sound(history)
    if not changes:
        return
    place = data.draw(st.integers(0, len(changes) - 1))
    change, field = changes[place], data.draw(st.sampled_from(FIELDS))
    if field in ("body", "salt", "drop"):
        if not change.parts or change.parts[0].body is None:
            return
        first, *others = change.parts
        edit = {
            "body": [replace(first, body=(first.body or b"") + b" ")],
            "salt": [replace(first, salt=f"{first.salt}x")],
            "drop": list[Part](),
        }[field]
        edited = replace(change, parts=(*edit, *others))
    elif field == "at":
        edited = replace(change, at=change.at + 1)
    elif field == "version":
        edited = replace(change, version=f"{change.version}x")
    else:
        edited = replace(change, **{field: f"{getattr(change, field)}x"})
    broken = found_in([*changes[:place], edited, *changes[place + 1 :]], kept, kept.head)
    assert (broken.kind, broken.seq) == (BreakKind.TAMPERED, place + 1)


@given(histories, st.data())
def test_any_removal_is_told_from_a_cut(history: list[Step], data: st.DataObject) -> None:
    changes, kept = sound(history)
    if not changes:
        return
    first = data.draw(st.integers(0, len(changes) - 1))
    last = data.draw(st.integers(first + 1, len(changes)))
    rest = [*changes[:first], *changes[last:]]
    if last < len(changes):
        for chain in (rest, renumbered(rest)):
            broken = found_in(chain, kept, kept.head)
            assert (broken.kind, broken.seq) == (BreakKind.REMOVED, first + 1)
    else:
        assert found_in(rest, kept, kept.head).kind is BreakKind.TRUNCATED
        assert found_in(rest, None, kept.head).kind is BreakKind.ROLLED_BACK


@given(histories, st.data())
def test_any_other_order_is_told(history: list[Step], data: st.DataObject) -> None:
    changes, kept = sound(history)
    order = data.draw(st.permutations(range(len(changes))))
    shuffled = renumbered([changes[place] for place in order])
    if list(order) == sorted(order):
        assert isinstance(examine("l-1", shuffled, kept=kept), Intact)
    else:
        assert found_in(shuffled, kept, kept.head).kind is BreakKind.REORDERED


@given(histories, st.data())
def test_any_insertion_is_tampering(history: list[Step], data: st.DataObject) -> None:
    changes, kept = sound(history)
    place = data.draw(st.integers(0, len(changes)))
    before = changes[place - 1].head if place else genesis("l-1")
    forged = seal(
        [Draft(kind=ChangeKind.OBSERVED, at=9, reason="f", actor="f", source=TABLES[0])], before
    )
    broken = found_in(renumbered([*changes[:place], *forged, *changes[place:]]), kept, kept.head)
    if place < len(changes):
        assert (broken.kind, broken.seq) == (BreakKind.TAMPERED, place + 1)
    else:
        assert broken.kind is BreakKind.STATE_ALTERED


@given(histories, st.data())
def test_any_other_history_is_forked(history: list[Step], data: st.DataObject) -> None:
    changes, kept = sound(history)
    if not changes:
        return
    place = data.draw(st.integers(0, len(changes) - 1))
    drafts = [
        Draft(
            kind=change.kind,
            at=change.at + (number == place),
            reason=change.reason,
            actor=change.actor,
            source=change.source,
            version=change.version,
            parts=change.parts,
        )
        for number, change in enumerate(changes)
    ]
    other = seal(drafts, genesis("l-1"))
    broken = found_in(other, fold(genesis("l-1"), other), kept.head)
    assert (broken.kind, broken.seq) == (BreakKind.FORKED, len(changes))


# -- scopes ---------------------------------------------------------------------------------------

names = st.none() | st.sampled_from(["a", "b", ""])
scopes = st.builds(Scope, tenant=names, principal=names, role=names, task=names, purpose=names)


@given(scopes, scopes, scopes)
def test_scopes_admit_as_an_order_does(one: Scope, two: Scope, three: Scope) -> None:
    assert one.admits(one)
    if one.admits(two) and two.admits(one):
        assert one == two
    if one.admits(two) and two.admits(three):
        assert one.admits(three)
    assert Scope().admits(one)
    wanted = all(
        mine in (None, theirs) for mine, theirs in zip(one.as_json(), two.as_json(), strict=True)
    )
    assert one.admits(two) is wanted
