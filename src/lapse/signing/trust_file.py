"""Keeps what is known of issuers in one file beside the ledger.

The file is not part of the ledger on purpose: whoever puts an old ledger back must not put back
with it what was known of the issuers (which epoch, which key). Put it where whoever can write the
ledger cannot write.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from base64 import b64decode, b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from lapse.contract import Known, SignedState, Statement
from lapse.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["TrustFile"]

_FORM: Final = "lapse trust"
_VERSION: Final = 1
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

T = TypeVar("T")


class TrustFile:
    """Implements `lapse.contract.TrustKeeper` as one JSON file, replaced whole and synced.

    Any number of processes may share it: a lock file beside it (``.lock``) lets one in at a time,
    so no epoch is forgotten. Safe to call from several threads.

    Args:
        path: the file; its directory must exist.
    """

    __slots__ = ("_lock", "_path", "_seen")

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._seen: tuple[tuple[int, int, int], dict[str, Known]] | None = None

    def known(self, issuer: str) -> Known | None:
        """What is known of an issuer; None when it was never met.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._read().get(issuer)

    def update(self, issuer: str, decide: Callable[[Known | None], tuple[Known | None, T]]) -> T:
        """Decide on what is known, and keep what comes of it; None forgets the issuer.

        Raises:
            StoreError: it could not be kept; the former file stands.
        """
        with self._changing():
            held = self._read()
            before = held.get(issuer)
            after, result = decide(before)
            if after is None and before is not None:
                self._write({name: known for name, known in held.items() if name != issuer})
            elif after is not None and after != before:
                self._write({**held, issuer: after})
            return result

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Hold the lock file. The system lets go of it when the process dies, however it dies."""
        with self._lock:
            try:
                beside = self._path.with_name(f"{self._path.name}.lock")
                lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as failure:
                raise _promised(failure, self._path) from failure
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)

    def _read(self) -> dict[str, Known]:
        try:
            found = self._path.stat()
            # Every write makes another file.
            identity = (found.st_ino, found.st_mtime_ns, found.st_size)
            seen = self._seen
            if seen is not None and seen[0] == identity:
                return seen[1]
            text = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as failure:
            raise _promised(failure, self._path) from failure
        held = _from_json(text, self._path)
        self._seen = identity, held
        return held

    def _write(self, held: dict[str, Known]) -> None:
        body = {
            "form": _FORM,
            "version": _VERSION,
            "issuers": {issuer: _to_json(known) for issuer, known in held.items()},
        }
        beside = self._path.with_name(f"{self._path.name}.new")
        try:
            with beside.open("wb") as file:
                file.write(json.dumps(body, indent=1).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
            directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as failure:
            raise _promised(failure, self._path) from failure


def _to_json(known: Known) -> dict[str, Any]:
    said = known.statement
    return {
        "statement": None
        if said is None
        else [
            said.issuer,
            said.audience,
            said.root,
            said.content,
            said.epoch,
            said.issued_at,
            said.expires_at,
        ],
        "fresh_until": known.fresh_until,
        "past": [[p.epoch, p.root, p.content, p.proof] for p in known.past],
        "keys": {name: b64encode(public).decode() for name, public in known.keys.items()},
        "reused_at": known.reused_at,
        "evidence": list(known.evidence),
        "quarantined": known.quarantined,
    }


def _from_json(text: bytes, path: Path) -> dict[str, Known]:
    # A file that cannot be read is not an empty one: taken for that, every issuer would be met
    # anew, with whatever key it shows.
    try:
        value: object = json.loads(text)
        match value:
            case {"form": str(form), "version": int(version), "issuers": dict()} if (
                form == _FORM and version == _VERSION
            ):
                issuers = cast("dict[str, dict[str, dict[str, Any]]]", value)["issuers"]
                return {issuer: _known(kept) for issuer, kept in issuers.items()}
            case _:
                pass
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        pass
    raise StoreCorrupt(
        f"{path} is not a trust file that this lapse wrote; look who changed it, or pin the keys"
    ) from None


def _known(kept: dict[str, Any]) -> Known:
    said = kept["statement"]
    statement = None
    if said is not None:
        issuer, audience, root, content, epoch, issued_at, expires_at = said
        statement = Statement(
            issuer=issuer,
            audience=audience,
            root=root,
            content=content,
            epoch=int(epoch),
            issued_at=int(issued_at),
            expires_at=int(expires_at),
        )
    return Known(
        statement=statement,
        fresh_until=int(kept["fresh_until"]),
        past=tuple(SignedState(int(epoch), *rest) for epoch, *rest in kept["past"]),
        keys={name: b64decode(text, validate=True) for name, text in kept["keys"].items()},
        reused_at=kept["reused_at"],
        evidence=tuple(kept["evidence"]),
        quarantined=bool(kept["quarantined"]),
    )


def _promised(failure: OSError, path: Path) -> StoreError:
    if failure.errno in _NO_SPACE:
        return StoreFull(f"no space is left for {path}; free some, then try again")
    if isinstance(failure, PermissionError) or failure.errno == errno.EROFS:
        return StoreReadOnly(f"{path} may not be written or read; change its mode")
    return StoreUnavailable(f"{path} cannot be used ({failure.strerror}); check its directory")
