"""A ledger on its way from one store to another: one JSON object a line, the ledger's id first.

The bodies travel as the exact bytes that were digested (base64), so the chain verifies on arrival.
Purged bodies travel as null. Reading checks shapes only; `lapse.ledger.examine` checks the chain.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from lapse.errors import InvalidValue, MalformedMessage
from lapse.ledger import Change, ChangeKind, Part, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["read_export", "write_export"]

_FORM = 1
"""The format's number; a later form gets a later number and is refused by this code."""


def write_export(ledger: str, changes: Iterable[Change]) -> Iterator[str]:
    """The lines of an export, each with its line end.

    Args:
        ledger: the ledger's id.
        changes: every change, in order.
    """
    yield _line({"lapse_export": _FORM, "ledger": ledger})
    for change in changes:
        yield _line(_members(change))


def read_export(lines: Iterable[str]) -> tuple[str, tuple[Change, ...]]:
    """The ledger's id and its changes.

    Raises:
        MalformedMessage: a line is not what `write_export` writes; the message names it.
    """
    ledger: str | None = None
    changes: list[Change] = []
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as failure:
            raise MalformedMessage(f"line {number} of the export is not JSON ({failure})") from None
        if number > 1:
            changes.append(_change(value, number))
            continue
        match value:
            case {"lapse_export": 1, "ledger": str(named)}:
                ledger = named
            case _:
                raise MalformedMessage("line 1 does not say that this is a lapse export of form 1")
    if ledger is None:
        raise MalformedMessage("the export is empty; its first line names the ledger")
    return ledger, tuple(changes)


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _members(change: Change) -> dict[str, Any]:
    return {
        "seq": change.seq,
        "kind": change.kind.value,
        "at": change.at,
        "reason": change.reason,
        "actor": change.actor,
        "source": None if change.source is None else list(change.source),
        "version": change.version,
        "parts": [[p.record, p.digest, _text(p.body), p.salt] for p in change.parts],
        "previous": change.previous,
        "digest": change.digest,
    }


def _text(body: bytes | None) -> str | None:
    return None if body is None else base64.b64encode(body).decode()


def _change(value: Any, number: int) -> Change:  # anything may stand on a line
    match value:
        case {
            "seq": int(seq),
            "kind": str(kind),
            "at": int(at),
            "reason": str(reason),
            "actor": str(actor),
            "source": source,
            "version": (str() | None) as version,
            "parts": [*parts],
            "previous": str(previous),
            "digest": str(digest),
        }:
            try:
                return Change(
                    seq=seq,
                    kind=ChangeKind(kind),
                    at=at,
                    reason=reason,
                    actor=actor,
                    source=None if source is None else Source.from_parts(source),
                    version=version,
                    parts=tuple(map(_part, parts)),
                    previous=previous,
                    digest=digest,
                )
            except (InvalidValue, ValueError) as failure:
                raise MalformedMessage(f"line {number} of the export: {failure}") from None
        case _:
            raise MalformedMessage(f"line {number} of the export is not a change")


def _part(value: Any) -> Part:
    match value:
        case [str(record), str(digest), (str() | None) as body, str(salt)]:
            return Part(record, digest, None if body is None else _bytes(body), salt)
        case _:
            raise InvalidValue("part", value, "pass [record, digest, body, salt]")


def _bytes(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as failure:
        raise InvalidValue("body", body, f"pass base64 ({failure})") from None
