"""Keeps the head of a chain in a file of its own, outside the store.

Put the file where whoever can write the store cannot write: another user's directory, another
disk, another machine's mount. Or sign it, so that it cannot be written without the key; then only
an older anchor, put back together with an older store, would pass, and only for a process that
starts anew.

::

    keys = HmacKeys({"2026": secret}, sign_with="2026")
    anchor = FileAnchor(anchor_path, signer=keys, verifier=keys)
    store = TrustedStore(SqliteStore(path, ids=ids), anchor, clock=SystemClock())
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lapse.errors import (
    InvalidValue,
    LedgerNotTrusted,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from lapse.ledger import AnchoredHead, Break, BreakKind, Head, Instant, Signer, Verifier
from lapse.storage.space import NO_SPACE
from lapse.storage.trusted import TrustedStore

__all__ = ["FileAnchor", "TrustedStore"]

_FORM = 1
"""The file's form; a later one gets a later number and is refused by this code."""


def _pass_by(_point: str) -> None:
    """Nothing fails here."""


class FileAnchor:
    """Implements `lapse.ledger.Anchor` as one JSON file, replaced whole and synced every time.

    Any number of processes may share it: a lock file beside it (``.lock``) lets one in at a time,
    so the anchor never moves back. Safe to call from several threads.

    Args:
        path: the file; its directory must exist.
        signer: signs what is written; needs a verifier, or nothing could be read back.
        verifier: checks what is read; without one, whatever is in the file is believed, which is
            right only where the file's place protects it.
        failpoint: called with the name of every point at which a crash is tried out.
    """

    __slots__ = ("_failpoint", "_lock", "_path", "_seen", "_signer", "_verifier")

    def __init__(
        self,
        path: str | Path,
        *,
        signer: Signer | None = None,
        verifier: Verifier | None = None,
        failpoint: Callable[[str], None] = _pass_by,
    ) -> None:
        if signer is not None and verifier is None:
            raise InvalidValue("verifier", None, "pass what checks the signer's signatures, too")
        self._path = Path(path)
        self._signer = signer
        self._verifier = verifier
        self._failpoint = failpoint
        self._lock = threading.Lock()
        self._seen: tuple[tuple[int, int, int], AnchoredHead] | None = None

    def read(self) -> AnchoredHead | None:
        """What was anchored last; None when nothing ever was. Cheap while the file is the same.

        Raises:
            LedgerNotTrusted: no known key signed it.
            StoreError: it cannot be read.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise _promised(failure, self._path) from failure
        # Every advance makes another file. Who forges these three numbers gets back what was read
        # and checked before, which is at most older, never false.
        identity = (found.st_ino, found.st_mtime_ns, found.st_size)
        seen = self._seen
        if seen is not None and seen[0] == identity:
            return seen[1]
        anchored = self._read_file()
        if anchored is not None:
            self._seen = (identity, anchored)
        return anchored

    def announce(self, ledger: str, head: Head, *, at: Instant) -> None:
        """Remember that a writer is about to lead the chain to this head, before it does.

        Raises:
            LedgerNotTrusted: nothing is anchored yet, or as for `advance`.
            StoreError: as for `advance`.
        """
        with self._changing():
            known = self._read_file()
            if known is None:
                detail = f"there is no anchor at {self._path} any more"
                raise LedgerNotTrusted(Break(BreakKind.ANCHOR_MISSING, 0, detail))
            if _is_later(ledger, head, known) and head not in known.announced:
                self._write(replace(known, announced=(*known.announced, head), at=at))

    def advance(self, ledger: str, head: Head, *, at: Instant) -> None:
        """Remember a later head, atomically and durably; an earlier one is ignored.

        Raises:
            LedgerNotTrusted: what is there was not signed by a known key, is of another ledger, or
                knows another change in this place.
            StoreReadOnly: there is a verifier and no signer, or the file may not be written.
            StoreError: it cannot be written; the former anchor stands.
        """
        with self._changing():
            known = self._read_file()
            if known is None:
                self._write(AnchoredHead(ledger=ledger, head=head, at=at))
            elif _is_later(ledger, head, known):
                announced = tuple(later for later in known.announced if later.seq > head.seq)
                self._write(AnchoredHead(ledger=ledger, head=head, at=at, announced=announced))

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Hold the lock file. The system lets go of it when the process dies, however it dies."""
        if self._verifier is not None and self._signer is None:
            raise StoreReadOnly(f"the anchor {self._path} has no signer; pass one to change it")
        with self._lock:
            try:
                beside = self._path.with_name(f"{self._path.name}.lock")
                lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    yield
                finally:
                    os.close(lock)
            except OSError as failure:
                raise _promised(failure, self._path) from failure

    def _read_file(self) -> AnchoredHead | None:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise _promised(failure, self._path) from failure
        anchored = _from_json(text, self._path)
        if self._verifier is not None and not _is_signed(anchored, self._verifier):
            detail = f"no known key signed {self._path} (it names key {anchored.key!r})"
            raise LedgerNotTrusted(Break(BreakKind.ANCHOR_FORGED, anchored.head.seq, detail))
        return anchored

    def _write(self, anchored: AnchoredHead) -> None:
        if self._signer is not None:
            anchored = replace(anchored, key=self._signer.key)
            signature = self._signer.sign(anchored.signed_bytes())
            anchored = replace(anchored, signature=signature.hex())
        # One name is enough: who writes it holds the lock, and what a crash left is written over.
        beside = self._path.with_name(f"{self._path.name}.new")
        with beside.open("wb") as file:
            file.write(_to_json(anchored))
            file.flush()
            os.fsync(file.fileno())
        self._failpoint("anchor: written, not in place")
        beside.replace(self._path)
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        self._failpoint("anchor: in place")


def _is_later(ledger: str, head: Head, known: AnchoredHead) -> bool:
    if known.ledger != ledger:
        detail = f"the anchor belongs to ledger {known.ledger}, this is {ledger}"
        raise LedgerNotTrusted(Break(BreakKind.ANCHOR_FORGED, 0, detail))
    if known.head.seq == head.seq and known.head.digest != head.digest:
        detail = "the anchor knows another change in this place"
        raise LedgerNotTrusted(Break(BreakKind.FORKED, head.seq, detail))
    return head.seq > known.head.seq


def _is_signed(anchored: AnchoredHead, verifier: Verifier) -> bool:
    try:
        signature = bytes.fromhex(anchored.signature)
    except ValueError:
        return False
    return verifier.verify(anchored.key, anchored.signed_bytes(), signature)


def _to_json(anchored: AnchoredHead) -> bytes:
    fields = {
        "form": _FORM,
        "ledger": anchored.ledger,
        "seq": anchored.head.seq,
        "digest": anchored.head.digest,
        "announced": [[head.seq, head.digest] for head in anchored.announced],
        "at": anchored.at,
        "key": anchored.key,
        "signature": anchored.signature,
    }
    return json.dumps(fields, indent=1).encode() + b"\n"


def _from_json(text: bytes, path: Path) -> AnchoredHead:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    match fields:
        case {
            "form": 1,
            "ledger": str(ledger),
            "seq": int(seq),
            "digest": str(digest),
            "announced": list(announced),
            "at": int(at),
            "key": str(key),
            "signature": str(signature),
        } if seq >= 0 and all(map(_is_head, announced)):
            return AnchoredHead(
                ledger=ledger,
                head=Head(seq, digest),
                at=at,
                announced=tuple(Head(*pair) for pair in announced),
                key=key,
                signature=signature,
            )
        case _:
            raise StoreCorrupt(
                f"{path} is not an anchor that this lapse wrote; look who changed it"
            )


def _is_head(pair: object) -> bool:
    match pair:
        case [int(), str()]:
            return True
        case _:
            return False


def _promised(failure: OSError, path: Path) -> StoreError:
    if failure.errno in NO_SPACE:
        return StoreFull(f"no space is left for the anchor {path}; free some, then try again")
    if isinstance(failure, PermissionError) or failure.errno == errno.EROFS:
        return StoreReadOnly(f"the anchor {path} may not be written or read; change its mode")
    return StoreUnavailable(
        f"the anchor {path} cannot be used ({failure.strerror}); check its directory"
    )
