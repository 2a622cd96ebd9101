"""Anchors and signers keep the promises of their ports; a file anchor says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lapse.errors import (
    InvalidValue,
    LedgerNotTrusted,
    StoreConflict,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from lapse.ledger import Anchor, BreakKind, ChangeKind, Head, Signer, Verifier, digest, genesis
from lapse.signing import HmacKeys
from lapse.signing.ed25519 import Ed25519Signer, Ed25519Verifier
from lapse.storage import FileAnchor, InMemoryStore, TrustedStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import (
    ANCHOR_CASES,
    SIGNING_CASES,
    InMemoryAnchor,
    ManualClock,
    Scribe,
    SequenceIds,
    sample,
)

HMAC = HmacKeys({"new": b"n" * 32, "old": b"o" * 32}, sign_with="new")
ED25519 = Ed25519Signer("ed", b"e" * 32)
ED25519_PUBLIC = Ed25519Verifier({"ed": ED25519.public})
ONE = Head(1, digest(b"1"))
TWO = Head(2, digest(b"2"))
WRITTEN: dict[str, object] = {
    "form": 1,
    "ledger": "l",
    "seq": 1,
    "digest": "d",
    "announced": [],
    "at": 1,
    "key": "",
    "signature": "",
}

AnchorCase = Callable[[Callable[[], Anchor]], None]
SigningCase = Callable[[Signer, Verifier], None]


@pytest.mark.parametrize("case", ANCHOR_CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize(
    "signing",
    [(None, None), (HMAC, HMAC), (ED25519, ED25519_PUBLIC)],
    ids=["unsigned", "hmac", "ed25519"],
)
def test_file_anchor(
    case: AnchorCase, signing: tuple[Signer | None, Verifier | None], tmp_path: Path
) -> None:
    signer, verifier = signing
    case(lambda: FileAnchor(tmp_path / "anchor", signer=signer, verifier=verifier))


@pytest.mark.parametrize("case", ANCHOR_CASES, ids=lambda case: case.__name__)
def test_in_memory_anchor(case: AnchorCase) -> None:
    anchor = InMemoryAnchor()
    case(lambda: anchor)


@pytest.mark.parametrize("case", SIGNING_CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize(
    ("signer", "verifier"), [(HMAC, HMAC), (ED25519, ED25519_PUBLIC)], ids=["hmac", "ed25519"]
)
def test_signing(case: SigningCase, signer: Signer, verifier: Verifier) -> None:
    case(signer, verifier)


# -- keys -----------------------------------------------------------------------------------------


def test_keys_rotate(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    old = HmacKeys({"old": b"o" * 32}, sign_with="old")
    FileAnchor(path, signer=old, verifier=old).advance("l", ONE, at=1)
    both = FileAnchor(path, signer=HMAC, verifier=HMAC)
    found = both.read()
    assert found is not None
    assert found.key == "old"
    both.advance("l", TWO, at=2)
    found = both.read()
    assert found is not None
    assert found.key == "new"
    with pytest.raises(LedgerNotTrusted, match="names key 'new'"):
        FileAnchor(path, signer=old, verifier=old).read()


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: HmacKeys({"k": b"short"}, sign_with="k"), "keys['k']"),
        (lambda: HmacKeys({"": b"k" * 32}, sign_with=""), "keys"),
        (lambda: HmacKeys({"k": b"k" * 32}, sign_with="other"), "sign_with"),
        (lambda: HmacKeys({}, sign_with="k"), "sign_with"),
        (lambda: Ed25519Signer("", b"k" * 32), "key"),
        (lambda: Ed25519Signer("k", b"short"), "secret"),
        (lambda: Ed25519Verifier({"": b"k" * 32}), "keys"),
        (lambda: Ed25519Verifier({"k": b"short"}), "keys['k']"),
        (lambda: FileAnchor("anchor", signer=HMAC), "verifier"),
    ],
    ids=range(9),
)
def test_settings_are_checked(build: Callable[[], object], field: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        build()
    assert refusal.value.field == field
    assert "kkkk" not in str(refusal.value)  # a key is never repeated


def test_whoever_only_verifies_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    FileAnchor(path, signer=ED25519, verifier=ED25519_PUBLIC).advance("l", ONE, at=1)
    reader = FileAnchor(path, verifier=ED25519_PUBLIC)
    found = reader.read()
    assert found is not None
    assert found.head == ONE
    with pytest.raises(StoreReadOnly, match="has no signer"):
        reader.advance("l", TWO, at=2)


# -- the file -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "\xff",
        "[" * 100_000,
        '{"form": 2}',
        json.dumps(WRITTEN | {"seq": -1}),
        json.dumps(WRITTEN | {"announced": [1]}),
        json.dumps(WRITTEN | {"at": "now"}),
    ],
    ids=range(9),
)
def test_what_is_no_anchor_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "anchor"
    path.write_text(text)
    with pytest.raises(StoreCorrupt, match="is not an anchor"):
        FileAnchor(path).read()
    with pytest.raises(StoreCorrupt, match="is not an anchor"):
        FileAnchor(path).advance("l", ONE, at=1)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "edit",
    [
        {"seq": 2},
        {"digest": TWO.digest},
        {"ledger": "other"},
        {"at": 2},
        {"key": "old"},
        {"key": "nobody"},
        {"announced": [[2, TWO.digest]]},
        {"signature": ""},
        {"signature": "zz"},
        {"signature": "00" * 32},
    ],
    ids=str,
)
def test_an_edited_anchor_is_forged(tmp_path: Path, edit: dict[str, object]) -> None:
    path = tmp_path / "anchor"
    anchor = FileAnchor(path, signer=HMAC, verifier=HMAC)
    anchor.advance("l", ONE, at=1)
    path.write_text(json.dumps(json.loads(path.read_text()) | edit))
    for call in (anchor.read, lambda: anchor.advance("l", TWO, at=2)):
        with pytest.raises(LedgerNotTrusted) as refusal:
            call()
        assert refusal.value.found.kind == BreakKind.ANCHOR_FORGED


def test_without_a_verifier_the_place_has_to_protect_the_file(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    anchor = FileAnchor(path)
    anchor.advance("l", ONE, at=1)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 2}))
    found = anchor.read()
    assert found is not None
    assert found.head.seq == 2


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    anchor = FileAnchor(tmp_path / "nowhere" / "anchor")
    assert anchor.read() is None
    with pytest.raises(StoreUnavailable, match="check its directory"):
        anchor.advance("l", ONE, at=1)


@pytest.mark.parametrize("beneath", ["file/anchor", "folder"])
def test_a_place_that_cannot_be_read_is_said(tmp_path: Path, beneath: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreUnavailable):
        FileAnchor(tmp_path / beneath).read()


def test_an_anchor_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    anchor = FileAnchor(path)
    anchor.advance("l", ONE, at=1)
    first = anchor.read()
    assert anchor.read() is first
    FileAnchor(path).advance("l", TWO, at=2)
    assert anchor.read() is not first
    path.unlink()
    assert anchor.read() is None


def test_a_crash_while_writing_leaves_the_former_anchor(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    FileAnchor(path).advance("l", ONE, at=1)

    def fail(point: str) -> None:
        if point == "anchor: written, not in place":
            raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="no space is left for the anchor"):
        FileAnchor(path, failpoint=fail).advance("l", TWO, at=2)
    found = FileAnchor(path).read()
    assert found is not None
    assert found.head == ONE
    FileAnchor(path).advance("l", TWO, at=2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["anchor", "anchor.lock"]


# -- a store under an anchor ----------------------------------------------------------------------


class FailingAnchor(InMemoryAnchor):
    """An anchor whose disk can be full."""

    def __init__(self) -> None:
        super().__init__()
        self.refusing: set[str] = set()

    def announce(self, ledger: str, head: Head, *, at: int) -> None:
        if "announce" in self.refusing:
            raise StoreUnavailable("the anchor's disk is gone")
        super().announce(ledger, head, at=at)

    def advance(self, ledger: str, head: Head, *, at: int) -> None:
        if "advance" in self.refusing:
            raise StoreUnavailable("the anchor's disk is gone")
        super().advance(ledger, head, at=at)


def test_a_new_ledger_is_anchored_when_it_is_opened() -> None:
    anchor = InMemoryAnchor()
    store = InMemoryStore(ids=SequenceIds())
    TrustedStore(store, anchor, clock=ManualClock(7))
    found = anchor.read()
    assert found is not None
    assert (found.ledger, found.head, found.at) == ("id-1", genesis("id-1"), 7)


def test_a_ledger_with_changes_and_no_anchor_is_refused() -> None:
    store = InMemoryStore(ids=SequenceIds())
    Scribe(store).write(sample("a"))
    with pytest.raises(LedgerNotTrusted) as refusal:
        TrustedStore(store, InMemoryAnchor(), clock=ManualClock())
    assert refusal.value.found.kind == BreakKind.ANCHOR_MISSING


def test_an_anchor_that_cannot_be_written_refuses_the_append_before_it_is_written() -> None:
    anchor = FailingAnchor()
    inner = InMemoryStore(ids=SequenceIds())
    store = TrustedStore(inner, anchor, clock=ManualClock())
    scribe = Scribe(store)
    scribe.write(sample("a"))
    anchor.refusing = {"announce", "advance"}
    with pytest.raises(StoreUnavailable):
        scribe.write(sample("b"))
    assert store.head() == inner.head() == scribe.expected.head
    anchor.refusing = set()
    scribe.write(sample("b"))
    assert store.state() == scribe.expected


def test_an_append_that_was_announced_stands_when_the_anchor_cannot_advance() -> None:
    anchor = FailingAnchor()
    inner = InMemoryStore(ids=SequenceIds())
    store = TrustedStore(inner, anchor, clock=ManualClock())
    scribe = Scribe(store)
    scribe.write(sample("a"))
    anchor.refusing = {"advance"}
    scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a"))
    assert store.unanchored == 1
    assert TrustedStore(inner.again(), anchor, clock=ManualClock()).state() == scribe.expected
    with pytest.raises(StoreUnavailable):
        store.close()
    anchor.refusing = set()
    again = TrustedStore(inner.again(), anchor, clock=ManualClock())
    scribe.store = again
    scribe.carry_out(scribe.judged(ChangeKind.REINSTATED, "a"))
    assert again.unanchored == 0
    again.close()


def test_closing_advances_what_is_behind() -> None:
    anchor = FailingAnchor()
    store = TrustedStore(InMemoryStore(ids=SequenceIds()), anchor, clock=ManualClock())
    scribe = Scribe(store)
    anchor.refusing = {"advance"}
    scribe.write(sample("a"))
    anchor.refusing = set()
    store.close()
    found = anchor.read()
    assert found is not None
    assert found.head == scribe.expected.head


def test_what_was_announced_and_lost_a_race_is_no_licence(tmp_path: Path) -> None:
    anchor = InMemoryAnchor()
    inner = InMemoryStore(ids=SequenceIds())
    one = TrustedStore(inner.again(), anchor, clock=ManualClock())
    other = TrustedStore(inner.again(), anchor, clock=ManualClock())
    fast, slow = Scribe(one), Scribe(other)
    late = slow.sealed(*slow.written_by(sample("b")))
    fast.write(sample("a"))
    with pytest.raises(StoreConflict):
        other.append(late, after=slow.expected.head)
    anchor.announce(one.ledger, Head(9, late[0].digest), at=1)
    fast.write(sample("c"))
    assert other.state() == fast.expected
    assert tmp_path


def test_a_purge_by_another_process_is_not_taken_for_tampering(tmp_path: Path) -> None:
    def opened() -> TrustedStore:
        store = SqliteStore(tmp_path / "ledger", ids=SequenceIds())
        return TrustedStore(store, FileAnchor(tmp_path / "anchor"), clock=ManualClock())

    with closing(opened()) as one, closing(opened()) as other:
        scribe = Scribe(one)
        scribe.write(sample("a"), sample("b"), sample("c"))
        reader = other.changes()
        seen = [next(reader)]
        scribe.carry_out(scribe.purged("a", "c"))
        seen += list(reader)
        assert [change.digest for change in seen] == [c.digest for c in scribe.written[: len(seen)]]
        assert other.state() == scribe.expected
        bodies = [part.body for change in other.changes(record="a") for part in change.parts]
        assert bodies == [None, None, None]
