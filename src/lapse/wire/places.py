"""The values that both ends of an exchange have, numbered; and numbers, as they are written.

A *place* is a value of the request, by its path, or a text among the parameters of a fix. Numbers
are digits of base64url, the highest first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lapse.contract import Held
    from lapse.ledger import JsonObject

__all__ = ["COMPOSED", "PLACES", "VALUES", "WHOLE", "Shared", "digits"]

_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
VALUES: Final = {digit: value for value, digit in enumerate(_DIGITS)}
WHOLE, COMPOSED, PLACES = 0, 1, 2
"""What a key's number says: the whole table; parts; from here on, the places."""
_MOST: Final = 256
"""Places: more would take three digits where they stand in keys."""
_DEPTH: Final = 8
"""Objects within each other that are looked into."""


class Shared:
    """The tables and places that both ends number alike.

    Args:
        held: the map, whose tables are numbered.
        request: the members of the request.
        parameters: those of the fix.

    Attributes:
        held: the map.
        tables: its tables, in the order of their numbers.
        paths: of each place its path in the request; None: it stands in the parameters.
        values: of each place its value.
        kinds: how many kinds of entry there are to each table.
        width: the digits of an entry's number.
        within: the digits of a place's number, one of them more than there are.
    """

    __slots__ = ("held", "kinds", "paths", "tables", "values", "width", "within")

    def __init__(self, held: Held, request: JsonObject, parameters: JsonObject) -> None:
        self.held = held
        self.tables = held.tables
        places: list[tuple[str | None, Any]] = [*sorted(_leaves(request).items())]
        ours = sorted(_leaves(parameters).items())
        places += [(None, value) for _, value in ours if _is_text(value)]
        del places[_MOST:]
        self.paths = tuple(path for path, _ in places)
        self.values = tuple(value for _, value in places)
        self.kinds = PLACES + len(places)
        self.width = _width(len(self.tables) * self.kinds)
        self.within = _width(1 + len(places))

    def texts(self, wanted: Iterable[str]) -> dict[str, int]:
        """Each text with its place, of several one that is a condition."""
        found: dict[str, int] = {}
        paths = frozenset(wanted)
        for number, value in enumerate(self.values):
            if _is_text(value) and (value not in found or self.paths[number] in paths):
                found[value] = number
        return found


def digits(value: int, width: int) -> str:
    """A number in digits of base64url, the highest first."""
    return "".join(_DIGITS[value >> 6 * place & 63] for place in reversed(range(width)))


def _width(count: int) -> int:
    """How many digits tell so many things apart."""
    width = 1
    while 64**width < count:
        width += 1
    return width


def _leaves(members: JsonObject) -> dict[str, Any]:
    """Each value that is no container, by the path under which `when` would name it."""
    found = {n: v for n, v in members.items() if not isinstance(v, (dict, list))}
    found |= {path: v for path, v in _below(members, "", _DEPTH) if path not in members}
    return found


def _below(members: JsonObject, before: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in members.items():
        if "." in name:
            continue  # a path would lead elsewhere
        if isinstance(value, dict) and depth:
            yield from _below(cast("JsonObject", value), f"{before}{name}.", depth - 1)
        elif before and not isinstance(value, (dict, list)):
            yield f"{before}{name}", value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
