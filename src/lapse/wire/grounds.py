"""What a fix rests on, in a few characters, for a client that knows its own request.

::

    "r": "k3Q" "DZ-J1p_dlA" "IssjkxI5F"
          |      |            ` the next row
          |      ` table and key in one digit, then the version: twelve hexadecimal digits in eight
          ` the check

A *place* is a value that both ends have: those of the request, by path, and the texts among the
fix's own parameters. A key that is the value of a place is said by its number, and a key that is
not is composed of places and texts. The conditions of `when` are the values of places, too: unless
the text says otherwise they are those that stand in keys.

Numbers mean nothing beside another map or another request. So the check is a digest over what comes
out, and the tag of the map: what does not have it was not said. Reading never raises.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import CacheHint, RowVersion, TableVersion, is_name
from lapse.errors import InvalidValue
from lapse.ledger import canonical
from lapse.wire.places import COMPOSED, PLACES, VALUES, WHOLE, Shared, digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse.contract import Held, Suggestion
    from lapse.ledger import JsonObject

__all__ = ["GROUND", "ground", "grounded"]

GROUND: Final = "r"
"""The member: what the fix *rests* on. Short, as it is on every fix."""

_CHECK: Final = 3
"""Characters. That a request which was rewritten on its way passes for another is one in 262,144,
and only for fields that the fix rests on."""
_VERSION: Final = re.compile("[0-9a-f]{12}")
"""Of a row, as C-VER-02 has it: 48 bits."""
_IN_HEX, _IN_DIGITS = 12, 8
_ABSENT: Final = 32
_PARTS: Final = 31
_LITERAL: Final = 63
"""Characters of one part."""
_ONLY, _NONE = ".", "!"
_LONGEST: Final = 4_096
"""Characters that are looked at."""
_SHORTEST_PART: Final = 3
"""Characters of a place that is worth a part of a key."""


class _UnreadableError(Exception):
    """It cannot be read, or cannot be said."""


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a text stands for."""

    tables: tuple[TableVersion, ...]
    rows: tuple[RowVersion, ...]
    when: Mapping[str, Any] | None

    @classmethod
    def of(cls, suggestion: Suggestion) -> _Ground:
        return cls(suggestion.tables, suggestion.rows, suggestion.when)

    def check(self, tag: str) -> str:
        tables = sorted([entry.table, entry.version] for entry in self.tables)
        rows = sorted([row.table, row.key, row.version or ""] for row in self.rows)
        digest = sha256(canonical([tag, tables, rows, self.when])).digest()
        return urlsafe_b64encode(digest).decode("ascii")[:_CHECK]


# -- writing -------------------------------------------------------------------------------------


def ground(suggestion: Suggestion, held: Held, request: JsonObject) -> dict[str, Any] | None:
    """The members that say what a fix rests on, in place of five others.

    Args:
        suggestion: the fix.
        held: the map that the client holds, which has to be that of now.
        request: what the client sent.

    Returns:
        The member, with `when` for the conditions that no place has; None when it cannot be said.
    """
    said = _Ground.of(suggestion)
    if suggestion.cache_hint is not CacheHint.CACHEABLE or GROUND in suggestion.more:
        return None
    shared = Shared(held, request, suggestion.parameters)
    try:
        items, used = _written(suggestion, shared)
        tail, left = _conditions(suggestion.when, used, shared)
        found = _read(items + tail, left, shared)
        if not _same(found, said) or found.tables[0].table != suggestion.table:
            return None
        text = found.check(held.tag) + items + tail
    except (_UnreadableError, InvalidValue):
        return None
    return {GROUND: text} if left is None else {"when": dict(left), GROUND: text}


def _written(suggestion: Suggestion, shared: Shared) -> tuple[str, set[str]]:
    """Tables and rows, and the paths of the request that stand in keys."""
    places = shared.texts(suggestion.when or ())
    numbers = {table: number for number, table in enumerate(shared.tables)}
    text, used = "", set[str]()
    named = [suggestion.table, *(entry.table for entry in suggestion.tables)]
    for table in dict.fromkeys(named):
        if table is None or table not in numbers:
            raise _UnreadableError
        first = numbers[table] * shared.kinds
        rows = [row for row in suggestion.rows if row.table == table]
        if not rows:
            text += digits(first + WHOLE, shared.width)
        for row in rows:
            place = None if row.version is None else places.get(row.key)
            if place is None:
                parts = _parts(row.key, places)
                text += digits(first + COMPOSED, shared.width)
                text += _composed(parts, shared, absent=row.version is None)
            else:
                parts = [place]
                text += digits(first + PLACES + place, shared.width)
            text += _version(row.version)
            used |= {path for part in parts if (path := _path(part, shared)) is not None}
    return text, used


def _path(part: int | str, shared: Shared) -> str | None:
    return shared.paths[part] if isinstance(part, int) else None


def _parts(key: str, places: Mapping[str, int]) -> list[int | str]:
    """A key as places and the texts between them."""
    long = sorted((text for text in places if len(text) >= _SHORTEST_PART), key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, long))})", key) if long else [key]
    parts: list[int | str] = []
    for piece in filter(None, pieces):
        if piece in places and len(piece) >= _SHORTEST_PART:
            parts.append(places[piece])
        else:
            parts += [piece[at : at + _LITERAL] for at in range(0, len(piece), _LITERAL)]
    if len(parts) > _PARTS:
        raise _UnreadableError
    return parts


def _composed(parts: Sequence[int | str], shared: Shared, *, absent: bool) -> str:
    text = digits(len(parts) + (_ABSENT if absent else 0), 1)
    for part in parts:
        if isinstance(part, int):
            text += digits(1 + part, shared.within)
        else:
            text += digits(0, shared.within) + digits(len(part), 1) + part
    return text


def _version(version: str | None) -> str:
    if version is None:
        return ""
    if _VERSION.fullmatch(version) is None:
        raise _UnreadableError
    return digits(int(version, 16), _IN_DIGITS)


def _conditions(
    when: JsonObject | None, used: set[str], shared: Shared
) -> tuple[str, JsonObject | None]:
    """How the text says which conditions there are, and those that no place has."""
    if when is None:
        return (_NONE if used else ""), None
    numbers = {path: number for number, path in enumerate(shared.paths) if path is not None}
    known = [
        path
        for path, value in when.items()
        if path in numbers and _alike(value, shared.values[numbers[path]])
    ]
    left = {path: value for path, value in when.items() if path not in known}
    if known and set(known) == used:
        tail = ""
    elif left and not known:
        tail = _NONE if used else ""
    else:
        tail = _ONLY + "".join(digits(numbers[path], shared.within) for path in sorted(known))
    return tail, left or None


# -- reading -------------------------------------------------------------------------------------


def grounded(suggestion: Suggestion, held: Held, request: JsonObject | None) -> Suggestion | None:
    """A fix with what its member stands for; None when that cannot be said.

    Args:
        suggestion: as it was read.
        held: the map that its response stands for.
        request: what was sent; None: that is not known.
    """
    more = dict(suggestion.more)
    text = more.pop(GROUND, None)
    if not isinstance(text, str) or len(text) > _LONGEST or request is None or "when" in more:
        return None
    try:
        shared = Shared(held, request, suggestion.parameters)
        found = _read(text[_CHECK:], suggestion.when, shared)
        if text[:_CHECK] != found.check(held.tag):
            return None
    except (_UnreadableError, InvalidValue):
        return None
    return replace(
        suggestion,
        cache_hint=CacheHint.CACHEABLE,
        table=found.tables[0].table,
        tables=found.tables,
        rows=found.rows,
        when=found.when,
        more=more,
    )


class _Text:
    """A text that is read from the left."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def take(self, length: int) -> str:
        taken = self._text[self._at : self._at + length]
        if len(taken) < length:
            raise _UnreadableError
        self._at += length
        return taken

    def number(self, width: int) -> int:
        value = 0
        for digit in self.take(width):
            if digit not in VALUES:
                raise _UnreadableError
            value = value << 6 | VALUES[digit]
        return value

    @property
    def next(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]


def _read(said: str, left: JsonObject | None, shared: Shared) -> _Ground:
    text = _Text(said)
    tables: dict[str, None] = {}
    rows: list[RowVersion] = []
    used: set[str] = set()
    while text.next not in ("", _ONLY, _NONE):
        number, kind = divmod(text.number(shared.width), shared.kinds)
        if number >= len(shared.tables):
            raise _UnreadableError
        table = shared.tables[number]
        tables[table] = None
        if kind != WHOLE:
            parts, absent = ([kind - PLACES], False) if kind != COMPOSED else _taken(text, shared)
            key = "".join(_text_of(part, shared) for part in parts)
            version = None if absent else f"{text.number(_IN_DIGITS):0{_IN_HEX}x}"
            if not is_name(key):
                raise _UnreadableError
            rows.append(RowVersion(table, key, version))
            used |= {path for part in parts if (path := _path(part, shared)) is not None}
    if not tables or len({(row.table, row.key) for row in rows}) != len(rows):
        raise _UnreadableError
    when = _when(text, used, left, shared)
    versions = shared.held.table_versions
    return _Ground(tuple(TableVersion(t, versions[t]) for t in tables), tuple(rows), when)


def _taken(text: _Text, shared: Shared) -> tuple[list[int | str], bool]:
    """The parts of a key, and whether there is no such row."""
    absent, count = divmod(text.number(1), _ABSENT)
    parts: list[int | str] = []
    for _ in range(count):
        place = text.number(shared.within)
        parts.append(text.take(text.number(1)) if place == 0 else place - 1)
    return parts, bool(absent)


def _text_of(part: int | str, shared: Shared) -> str:
    value = (
        part
        if isinstance(part, str)
        else shared.values[part]
        if part < len(shared.values)
        else None
    )
    if not isinstance(value, str):
        raise _UnreadableError
    return value


def _when(
    text: _Text, used: set[str], left: JsonObject | None, shared: Shared
) -> JsonObject | None:
    kind = text.next and text.take(1)
    paths: list[str] = sorted(used)
    if kind == _ONLY:
        paths = []
        while text.next:
            number = text.number(shared.within)
            path = shared.paths[number] if number < len(shared.paths) else None
            if path is None:
                raise _UnreadableError
            paths.append(path)
    elif kind == _NONE:
        paths = []
    if text.next:
        raise _UnreadableError
    values = dict(zip(shared.paths, shared.values, strict=True))
    known = {path: values[path] for path in paths}
    if left is not None and left.keys() & known.keys():
        raise _UnreadableError  # one condition twice: which counts would be a guess
    if not known and left is None and kind != _ONLY:
        return None
    return {**known, **(left or {})}


# -- both ----------------------------------------------------------------------------------------


def _alike(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _same(found: _Ground, said: _Ground) -> bool:
    """Whether two say the same; the order of tables and rows says nothing."""
    return (
        set(found.tables) == set(said.tables)
        and set(found.rows) == set(said.rows)
        and (found.when is None) == (said.when is None)
        and (found.when is None or canonical(found.when) == canonical(said.when))
    )
