"""The digest envelope in its two forms: header fields over HTTP, members in MCP's `_meta`.

::

    Lapse: pGm5gJ8n0vQ0cVhX;by=Xk3v0aQ2         the request: what the client holds
    Lapse: pGm5                                 the response: that is how things stand
    Lapse: pGm5;to=Zc3kq0T1xXv2aA9b             or: what follows makes it this one
    Contract-Moved: "active_csm_codes";v="1.0.1", "old_table"

All are structured fields (RFC 9651): an Item that is a Token, and a List of Strings. `by` names the
signed statement that the client holds, by its signature; a service that signs repeats it to clients
that hold another one. In `Contract-Moved` a table without `v` is gone. Rules that moved stand in
`Contract-Rules` as ever.

What a suggestion says beside a digest is in `references`. Reading never raises: what cannot be read
was not said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast

import http_sf

from lapse.contract import Delta, is_name, token
from lapse.wire.fields import RULES, lines, member_text, read_text
from lapse.wire.limits import DEFAULT_LIMITS, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "DIGEST",
    "MOVED",
    "Have",
    "Said",
    "have_field",
    "have_member",
    "print_of",
    "read_digest",
    "read_digest_member",
    "read_have",
    "read_have_member",
    "said_fields",
    "said_members",
]

DIGEST: Final = "Lapse"
"""The field of both ends; short, because it is on every request and every response."""
MOVED: Final = "Contract-Moved"

_WANTED: Final = frozenset(name.lower().encode() for name in (DIGEST, MOVED, RULES))
_LONGEST: Final = 256
"""Bytes of a request's field that are looked at; ours have 28 at most."""
_TAG: Final = re.compile("[A-Za-z0-9_-]{1,64}")
"""Today's tags have 16 characters, and later ones may have more."""


@dataclass(frozen=True, slots=True)
class Have:
    """What a client says that it holds.

    Attributes:
        tag: names the map.
        by: names the signed statement that it holds, as `print_of` does; None: it holds none.
    """

    tag: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a response says in place of a map.

    Attributes:
        echo: the beginning of the tag that it answers.
        to: the tag of the map of now; None when it is the same one.
        delta: what moved; None when nothing did.
    """

    echo: str
    to: str | None = None
    delta: Delta | None = None


def print_of(signature: bytes) -> str:
    """What a signed statement is called: nearly 48 bits of its signature's digest."""
    return token(sha256(signature).digest(), 8)


# -- over HTTP -----------------------------------------------------------------------------------


def have_field(have: Have) -> str:
    """The value of a request's field."""
    return have.tag if have.by is None else f"{have.tag};by={have.by}"


def read_have(value: bytes) -> Have | None:
    """What a request's field says; None when it cannot be read."""
    return _read_have(value) if len(value) <= _LONGEST else None


# A client sends one value until something moves.
@lru_cache(maxsize=1024)
def _read_have(value: bytes) -> Have | None:
    tag, parameters = _token(value)
    if tag is None:
        return None
    by = str(parameters.get("by", ""))
    return Have(tag, by) if _is_tag(by) else Have(tag)


def said_fields(said: Said) -> list[tuple[str, str]]:
    """The header lines that stand in place of a map."""
    if said.to is None or said.delta is None:
        return [(DIGEST, said.echo)]
    written = [(DIGEST, f"{said.echo};to={said.to}")]
    moved: list[Any] = [
        (member_text(table), {"v": member_text(version)})
        for table, version in said.delta.changed.items()
    ]
    moved += [(member_text(table), {}) for table in said.delta.gone]
    if moved:
        written.append((MOVED, http_sf.ser(moved)))
    if said.delta.rules_version is not None:
        written.append((RULES, http_sf.ser(member_text(said.delta.rules_version))))
    return written


def read_digest(
    headers: Mapping[str, str] | Sequence[tuple[bytes | str, bytes | str]],
) -> Said | Reason | None:
    """What a response's header lines say in place of a map; None when they say nothing."""
    found = lines(headers, _WANTED)
    value = found.get(DIGEST.lower().encode())
    if value is None:
        return None
    echo, parameters = _token(value)
    if echo is None:
        return Reason.MALFORMED_FIELD
    if "to" not in parameters:
        return Said(echo)
    to = str(parameters["to"])
    if not _is_tag(to):
        return Reason.MALFORMED_FIELD
    if any(len(line) > DEFAULT_LIMITS.field_bytes for line in found.values()):
        return Reason.TOO_LARGE
    moved = found.get(MOVED.lower().encode())
    rules = found.get(RULES.lower().encode())
    return _moved(echo, to, moved, rules)


@lru_cache(maxsize=64)
def _moved(echo: str, to: str, moved: bytes | None, rules: bytes | None) -> Said | Reason:
    changed: dict[str, str] = {}
    gone: list[str] = []
    try:
        members = [] if moved is None else http_sf.parse(moved, tltype="list")
    except (http_sf.StructuredFieldError, ValueError):
        return Reason.MALFORMED_FIELD
    for member in cast("list[Any]", members):
        match member:
            case (str() | http_sf.DisplayString()) as table, {
                "v": (str() | http_sf.DisplayString()) as version
            }:
                changed[str(table)] = str(version)
            case (str() | http_sf.DisplayString()) as table, dict():
                gone.append(str(table))
            case _:
                return Reason.MALFORMED_FIELD
    said = None if rules is None else read_text(rules)
    if isinstance(said, Reason):
        return said
    return _checked(echo, to, Delta(changed=changed, gone=tuple(gone), rules_version=said))


def _token(value: bytes) -> tuple[str | None, dict[str, Any]]:
    """The token of an item that is one, and its parameters."""
    try:
        item = http_sf.parse(value, tltype="item")
    except (http_sf.StructuredFieldError, ValueError):
        return None, {}
    match item:
        case http_sf.Token() as token_, dict() if _is_tag(str(token_)):
            return str(token_), cast("tuple[Any, dict[str, Any]]", item)[1]
        case _:
            return None, {}


# -- in `_meta` ----------------------------------------------------------------------------------


def have_member(have: Have) -> dict[str, Any]:
    """What a request says under the contract's key in `_meta`."""
    return {"root": have.tag} if have.by is None else {"root": have.tag, "by": have.by}


def read_have_member(value: object) -> Have | None:
    """What a client says in `_meta` that it holds; None when it says nothing that can be read."""
    match value:
        case {"root": str(tag), "by": str(by)} if _is_tag(tag) and _is_tag(by):
            return Have(tag, by)
        case {"root": str(tag)} if _is_tag(tag):
            return Have(tag)
        case _:
            return None


def said_members(said: Said) -> dict[str, Any]:
    """What stands under the contract's key in a result's `_meta`, in place of a map."""
    if said.to is None or said.delta is None:
        return {"same": said.echo}
    moved = {**said.delta.changed, **dict.fromkeys(said.delta.gone)}
    members: dict[str, Any] = {"since": said.echo, "root": said.to, "moved": moved}
    if said.delta.rules_version is not None:
        members["rules_version"] = said.delta.rules_version
    return members


def read_digest_member(value: object) -> Said | Reason | None:
    """What a result's `_meta` says in place of a map; None when it says nothing."""
    members = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    rules, moved = members.get("rules_version"), members.get("moved")
    match members:
        case {"same": str(echo)} if _is_tag(echo):
            return Said(echo)
        case {"since": str(echo), "root": str(to)} if _is_tag(echo) and _is_tag(to):
            pass
        case _:
            return Reason.WRONG_TYPE if members.keys() & {"same", "since"} else None
    if not isinstance(moved, dict) or not (rules is None or isinstance(rules, str)):
        return Reason.WRONG_TYPE
    return _moved_members(echo, to, cast("dict[str, Any]", moved), rules)


def _moved_members(echo: str, to: str, entries: dict[str, Any], rules: str | None) -> Said | Reason:
    if len(entries) > DEFAULT_LIMITS.values:
        return Reason.TOO_MANY
    if not all(v is None or isinstance(v, str) for v in entries.values()):
        return Reason.WRONG_TYPE
    changed = {table: version for table, version in entries.items() if version is not None}
    gone = tuple(table for table, version in entries.items() if version is None)
    return _checked(echo, to, Delta(changed=changed, gone=gone, rules_version=rules))


def _checked(echo: str, to: str, delta: Delta) -> Said | Reason:
    texts = [*delta.changed, *delta.changed.values(), *delta.gone]
    if delta.rules_version is not None:
        texts.append(delta.rules_version)
    return Said(echo, to, delta) if all(map(is_name, texts)) else Reason.BAD_NAME


def _is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None
