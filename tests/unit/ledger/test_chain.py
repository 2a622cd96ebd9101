"""The chain: how changes are sealed, and how each way to break it is told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lapse.errors import InvalidValue
from lapse.ledger import (
    AnchoredHead,
    Break,
    BreakKind,
    Change,
    ChangeKind,
    Draft,
    Head,
    Intact,
    Part,
    Source,
    State,
    Status,
    digest,
    examine,
    fold,
    genesis,
    seal,
)
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds, sample

START = genesis("ledger")
RULES = Source.rules("issuer")


def observed(version: str = "1") -> Draft:
    return Draft(
        kind=ChangeKind.OBSERVED, at=1, reason="r", actor="a", source=RULES, version=version
    )


def about(kind: ChangeKind, *records: str) -> Draft:
    parts = tuple(Part.of(record, {"why": record}, salt="s") for record in records)
    return Draft(kind=kind, at=1, reason="r", actor="a", parts=parts)


def history() -> tuple[list[Change], State]:
    """A few records, one of them purged; the changes and the state they add up to."""
    store = InMemoryStore(ids=SequenceIds("ledger"))
    scribe = Scribe(store)
    scribe.write(sample("a"), sample("b"), sample("p"))
    scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a", "p"))
    scribe.carry_out(scribe.witnessed("b"), scribe.purged("p"))
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "b"))
    return list(store.changes()), store.state()


CHANGES, KEPT = history()
LEDGER = "ledger-1"
HEAD = KEPT.head
ANCHORED = AnchoredHead(ledger=LEDGER, head=HEAD, at=1)


# -- sealing --------------------------------------------------------------------------------------


def test_two_empty_ledgers_are_different_chains() -> None:
    assert genesis("a") == genesis("a")
    assert genesis("a") != genesis("b")
    assert genesis("a").seq == 0


def test_sealing_links_the_drafts_in_order() -> None:
    first, second = seal([observed("1"), observed("2")], START)
    assert (first.seq, first.previous) == (1, START.digest)
    assert (second.seq, second.previous) == (2, first.digest)
    assert second.head == Head(2, second.digest)
    assert first.intact
    assert second.intact
    assert seal([], START) == ()


def test_the_same_draft_elsewhere_has_another_digest() -> None:
    (here,), (there,) = seal([observed()], START), seal([observed()], genesis("other"))
    assert here.digest != there.digest


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: replace(observed(), source=None), "source"),
        (lambda: replace(about(ChangeKind.EVICTED, "a"), source=RULES), "source"),
        (lambda: about(ChangeKind.EVICTED), "parts"),
        (lambda: replace(observed(), parts=about(ChangeKind.EVICTED, "a").parts), "parts"),
        (lambda: about(ChangeKind.PURGED, "a"), "parts"),
    ],
    ids=["no source", "a source too many", "no parts", "parts too many", "a purge with content"],
)
def test_drafts_that_could_not_be_applied_are_refused(
    build: Callable[[], Draft], field: str
) -> None:
    with pytest.raises(InvalidValue) as refusal:
        build()
    assert refusal.value.field == field


@pytest.mark.parametrize("kind", ChangeKind)
def test_a_kind_leads_to_the_status_it_is_called_after(kind: ChangeKind) -> None:
    status = kind.leads_to
    silent = ("witnessed", "applied", "observed", "advanced")
    if kind in silent:
        assert status is None
    elif kind in (ChangeKind.WRITTEN, ChangeKind.REINSTATED):
        assert status is Status.ACTIVE
    else:
        assert status == kind.value


def test_a_part_is_erased_and_keeps_its_digest() -> None:
    part = Part.of("a", {"x": 1}, salt="s")
    assert part.value() == {"x": 1}
    assert part.intact
    gone = part.erased()
    assert gone == Part("a", part.digest, None, "")
    assert gone.value() is None
    assert gone.intact
    assert not replace(part, salt="t").intact
    assert not replace(part, body=b'{"x":2}').intact


def test_a_change_without_a_record_keeps_its_digest_and_the_others() -> None:
    (change,) = seal([about(ChangeKind.EVICTED, "a", "b")], START)
    less = change.without(["a", "nobody"])
    assert (less.digest, less.intact) == (change.digest, True)
    assert [part.body is None for part in less.parts] == [True, False]


def test_what_a_written_part_holds() -> None:
    written = CHANGES[2]
    (part,) = written.parts
    assert written.written_record(part) == sample("a")
    assert written.written_record(part.erased()) is None


# -- examining ------------------------------------------------------------------------------------


def test_a_ledger_that_is_what_it_says_is_intact() -> None:
    assert examine(LEDGER, CHANGES) == Intact(HEAD, len(CHANGES))
    assert examine(LEDGER, CHANGES, kept=KEPT, anchored=ANCHORED) == Intact(HEAD, 0)
    earlier = replace(ANCHORED, head=CHANGES[2].head)
    assert examine(LEDGER, CHANGES, anchored=earlier) == Intact(HEAD, len(CHANGES) - 3)
    start = replace(ANCHORED, head=genesis(LEDGER))
    assert examine(LEDGER, CHANGES, anchored=start) == Intact(HEAD, len(CHANGES))
    empty = State(genesis("e"))
    assert examine("e", [], kept=empty) == Intact(genesis("e"), 0)


def edited(place: int, **fields: object) -> list[Change]:
    return [replace(c, **fields) if c.seq == place else c for c in CHANGES]


def renumbered(changes: list[Change]) -> list[Change]:
    return [replace(change, seq=number) for number, change in enumerate(changes, start=1)]


def inserted() -> list[Change]:
    (forged,) = seal([about(ChangeKind.SUSPENDED, "b")], CHANGES[3].head)
    return renumbered([*CHANGES[:4], forged, *CHANGES[4:]])


def rewritten() -> list[Change]:
    return list(seal([a_moment_later(change) for change in CHANGES], genesis(LEDGER)))


def a_moment_later(change: Change) -> Draft:
    return Draft(
        kind=change.kind,
        at=change.at + 1,
        reason=change.reason,
        actor=change.actor,
        source=change.source,
        version=change.version,
        parts=change.parts,
    )


BODY_EDITED = replace(CHANGES[2].parts[0], body=b"{}")
BODY_GONE = CHANGES[2].parts[0].erased()


@pytest.mark.parametrize(
    ("changes", "kind", "seq"),
    [
        pytest.param(edited(3, parts=(BODY_EDITED,)), BreakKind.TAMPERED, 3, id="body edited"),
        pytest.param(edited(3, parts=(BODY_GONE,)), BreakKind.TAMPERED, 3, id="body gone"),
        pytest.param(edited(3, parts=()), BreakKind.TAMPERED, 3, id="part gone"),
        pytest.param(edited(4, at=9), BreakKind.TAMPERED, 4, id="instant edited"),
        pytest.param(edited(4, kind=ChangeKind.PURGED), BreakKind.TAMPERED, 4, id="kind edited"),
        pytest.param(edited(4, previous=START.digest), BreakKind.TAMPERED, 4, id="link edited"),
        pytest.param(edited(4, digest=START.digest), BreakKind.TAMPERED, 4, id="digest edited"),
        pytest.param(edited(1, version="x"), BreakKind.TAMPERED, 1, id="version edited"),
        pytest.param(edited(1, source=RULES), BreakKind.TAMPERED, 1, id="source edited"),
        pytest.param(edited(9, seq=12), BreakKind.TAMPERED, 12, id="number edited"),
        pytest.param(inserted(), BreakKind.TAMPERED, 5, id="inserted"),
        pytest.param(CHANGES[1:], BreakKind.REMOVED, 1, id="first removed"),
        pytest.param([*CHANGES[:3], *CHANGES[4:]], BreakKind.REMOVED, 4, id="one removed"),
        pytest.param([*CHANGES[:3], *CHANGES[6:]], BreakKind.REMOVED, 4, id="three removed"),
        pytest.param(CHANGES[::-1], BreakKind.REORDERED, 1, id="reversed"),
        pytest.param(
            [*CHANGES[:3], CHANGES[4], CHANGES[3], *CHANGES[5:]],
            BreakKind.REORDERED,
            4,
            id="swapped",
        ),
        pytest.param([CHANGES[-1], *CHANGES[:-1]], BreakKind.REORDERED, 1, id="last first"),
        pytest.param(
            [*CHANGES[:4], CHANGES[3], *CHANGES[4:]], BreakKind.REORDERED, 5, id="repeated"
        ),
        pytest.param([*CHANGES, CHANGES[3]], BreakKind.TAMPERED, 9, id="repeated at the end"),
    ],
)
def test_a_broken_chain_says_how(changes: list[Change], kind: BreakKind, seq: int) -> None:
    for chain in (changes, changes if kind is BreakKind.TAMPERED else renumbered(changes)):
        found = examine(LEDGER, chain, kept=KEPT, anchored=ANCHORED)
        assert isinstance(found, Break)
        assert (found.kind, found.seq) == (kind, seq), str(found)


def test_content_that_is_back_after_a_purge_is_tampering() -> None:
    part = Part.of("p", sample("p").as_json(), salt="salt-3")
    assert part.digest == CHANGES[4].parts[0].digest
    found = examine(LEDGER, edited(5, parts=(part,)), kept=KEPT)
    assert found == Break(BreakKind.TAMPERED, 5, "content about p is back after a purge")


def test_a_chain_that_ends_before_its_kept_state_is_truncated() -> None:
    found = examine(LEDGER, CHANGES[:-2], kept=KEPT, anchored=ANCHORED)
    assert found == Break(BreakKind.TRUNCATED, 8, "the kept state is at 9, the chain ends at 7")


@pytest.mark.parametrize("length", [0, 4, 5, 8])
def test_a_ledger_that_was_put_back_is_rolled_back(length: int) -> None:
    earlier = CHANGES[:length]
    found = examine(LEDGER, earlier, anchored=ANCHORED)
    assert isinstance(found, Break)
    assert (found.kind, found.seq) == (BreakKind.ROLLED_BACK, length + 1)
    kept = fold(genesis(LEDGER), earlier)
    assert examine(LEDGER, earlier, kept=kept, anchored=ANCHORED) == found


def test_a_rewritten_history_is_forked() -> None:
    changes = rewritten()
    kept = fold(genesis(LEDGER), changes)
    assert isinstance(examine(LEDGER, changes, kept=kept), Intact)
    found = examine(LEDGER, changes, kept=kept, anchored=ANCHORED)
    assert found == Break(BreakKind.FORKED, 9, "the anchor knows another change in this place")


def test_another_ledgers_anchor_is_told_first() -> None:
    found = examine(LEDGER, [], kept=KEPT, anchored=replace(ANCHORED, ledger="other"))
    assert isinstance(found, Break)
    assert found.kind is BreakKind.ANCHOR_FORGED


def test_a_kept_state_that_is_not_what_the_changes_add_up_to_is_altered() -> None:
    for kept in (
        fold(genesis(LEDGER), CHANGES[:-1]),
        State.restore(HEAD, KEPT.records(), {}),
        State.restore(HEAD, list(KEPT.records())[:-1], KEPT.marks()),
        State.restore(HEAD, [r.with_status(Status.ACTIVE) for r in KEPT.records()], KEPT.marks()),
    ):
        found = examine(LEDGER, CHANGES, kept=kept)
        assert isinstance(found, Break)
        assert found.kind is BreakKind.STATE_ALTERED


@pytest.mark.parametrize(
    "draft",
    [
        about(ChangeKind.REINSTATED, "b"),
        about(ChangeKind.SUSPENDED, "nobody"),
        about(ChangeKind.WRITTEN, "z"),
        about(ChangeKind.WITNESSED, "a"),
    ],
    ids=lambda draft: str(draft.kind),
)
def test_a_change_that_no_ledger_would_take_is_tampering(draft: Draft) -> None:
    changes = [*CHANGES, *seal([draft], HEAD)]
    found = examine(LEDGER, changes, kept=KEPT)
    assert isinstance(found, Break)
    assert (found.kind, found.seq) == (BreakKind.TAMPERED, 10)
    assert found.detail.startswith("no ledger would take it")


def test_what_a_signature_covers() -> None:
    announced = replace(ANCHORED, announced=(Head(10, digest(b"x")),))
    covered = {
        item.signed_bytes()
        for item in (
            ANCHORED,
            announced,
            replace(ANCHORED, ledger="x"),
            replace(ANCHORED, head=Head(1, HEAD.digest)),
            replace(ANCHORED, at=2),
            replace(ANCHORED, key="k"),
        )
    }
    assert len(covered) == 6
    assert replace(ANCHORED, signature="ab").signed_bytes() == ANCHORED.signed_bytes()
