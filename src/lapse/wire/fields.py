"""The header mirrors, for clients that drop bodies: `Contract-Versions`, `-Rules`, `-Location`.

All three are structured fields (RFC 9651). `Contract-Versions` is a List and not a Dictionary,
because a Dictionary's keys cannot carry any table name:

::

    Contract-Versions: "active_csm_codes";v="1.0.0", "token_funding_map";v="1.0.0"
    Contract-Rules: "ec524f499ebe"
    Contract-Location: "/contract"

A name outside printable ASCII is a Display String (RFC 9651, section 3.3.8). A list that would be
longer than `FIELD_BYTES` is left out whole (C-HDR-04): half a map would look like unloaded tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import http_sf
from http_sf import DisplayString as _Display

from lapse.contract import is_name
from lapse.wire.limits import Reason

__all__ = [
    "FIELD_BYTES",
    "LOCATION",
    "RULES",
    "VERSIONS",
    "contract_fields",
    "lines",
    "member_text",
    "read_text",
    "read_versions",
    "versions_field",
]

VERSIONS = "Contract-Versions"
RULES = "Contract-Rules"
LOCATION = "Contract-Location"

FIELD_BYTES = 4096
"""The longest `Contract-Versions` written: servers and proxies take 8 KiB of headers in all."""


def lines(
    headers: Mapping[str, str] | Sequence[tuple[bytes | str, bytes | str]], names: frozenset[bytes]
) -> dict[bytes, bytes]:
    """The wanted header fields, in lower case; lines of one field are joined (RFC 9110, 5.3)."""
    found: dict[bytes, bytes] = {}
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    for name, value in pairs:
        key = _bytes(name).lower()
        if key in names:
            text = _bytes(value)
            found[key] = found[key] + b", " + text if key in found else text
    return found


def _bytes(text: bytes | str) -> bytes:
    return text.encode("latin-1", "backslashreplace") if isinstance(text, str) else bytes(text)


# A server repeats one value until its next reload, and parsing it costs far more than a look-up.
@lru_cache(maxsize=64)
def read_versions(value: bytes) -> tuple[tuple[str, str], ...] | Reason:
    """The pairs of a `Contract-Versions` field, or why there are none."""
    try:
        members = http_sf.parse(value, tltype="list")
    except (http_sf.StructuredFieldError, ValueError):
        return Reason.MALFORMED_FIELD
    pairs: list[tuple[str, str]] = []
    for member in members if isinstance(members, list) else ():
        match member:
            case (str() | _Display()) as table, {"v": (str() | _Display()) as version}:
                pairs.append((str(table), str(version)))
            case _:
                return Reason.MALFORMED_FIELD
    if not all(is_name(text) for pair in pairs for text in pair):
        return Reason.BAD_NAME
    if len(dict(pairs)) != len(pairs):
        return Reason.DUPLICATE_KEY
    return tuple(pairs)


@lru_cache(maxsize=64)
def read_text(value: bytes) -> str | Reason:
    """The String that a `Contract-Rules` or `Contract-Location` field holds, or why not."""
    try:
        item = http_sf.parse(value, tltype="item")
    except (http_sf.StructuredFieldError, ValueError):
        return Reason.MALFORMED_FIELD
    match item:
        case (str() | _Display()) as text, dict():
            return str(text) if is_name(str(text)) else Reason.BAD_NAME
        case _:
            return Reason.MALFORMED_FIELD


def versions_field(table_versions: Mapping[str, str], *, limit: int = FIELD_BYTES) -> str | None:
    """The value of `Contract-Versions`; None when there is no table, or it would be too long."""
    members: list[http_sf.ItemType | http_sf.InnerListType] = [
        (member_text(table), {"v": member_text(version)})
        for table, version in sorted(table_versions.items())
    ]
    if not members:
        return None
    value = http_sf.ser(members)
    return value if len(value) <= limit else None


def contract_fields(
    *,
    table_versions: Mapping[str, str] | None,
    rules_version: str | None,
    location: str | None,
    limit: int = FIELD_BYTES,
) -> list[tuple[str, str]]:
    """The header lines that mirror these members; what is None, or too long, has none."""
    written: list[tuple[str, str]] = []
    if table_versions is not None:
        value = versions_field(table_versions, limit=limit)
        written += [] if value is None else [(VERSIONS, value)]
    if rules_version is not None:
        written.append((RULES, http_sf.ser(member_text(rules_version))))
    if location is not None:
        written.append((LOCATION, http_sf.ser(member_text(location))))
    return written


def member_text(text: str) -> str | _Display:
    """A text as a structured field holds it."""
    return text if text.isascii() and text.isprintable() else _Display(text)
