"""What a JSON Schema of an OpenAPI document demands of one value, with references resolved.

A `Shape` is a schema boiled down: `allOf` is the intersection of its parts, and `oneOf` and `anyOf`
are the weakest demand that all alternatives share, so that a shape never demands what some reading
of the document permits. What it cannot say (`not`, `if`, patterns of names, references to other
documents) is left out and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["OPEN", "Schemas", "Shape", "either"]

_DEPTH: Final = 24
"""Members inside members that are followed; what lies deeper is not read."""

_SHAPES: Final = 20_000
"""Schemas looked at for one operation; types that refer to each other grow without end."""

_HIGHEST: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems"})
_LOWEST: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems"})
_EXCLUSIVE: Final = (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1))
_LIMITS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), (int, float)),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), (int, float, bool)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), (int,)),
    **dict.fromkeys(("format", "pattern"), (str,)),
    "uniqueItems": (bool,),
}
"""The demands that are read, with the types that they have in documents that mean them."""
_SAFE_INTEGER: Final = 2**53 - 1
"""Beyond it a row could not be told from its neighbour in other languages (RFC 8785)."""

_UNSAID: Final = (
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "contains",
    "prefixItems",
    "minProperties",
    "maxProperties",
    "$dynamicRef",
)

_NULL: Final = frozenset({"null"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is demanded of one value.

    Attributes:
        kinds: the JSON types it may have; None: any.
        limits: further demands by their JSON Schema names.
        members: the shapes of an object's known members.
        required: the members it must have.
        items: the shape of an array's items; None: nothing is said.
        others: the shape of members without a name of their own; None: nothing is said.
    """

    kinds: frozenset[str] | None = None
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    members: Mapping[str, Shape] = field(default_factory=dict[str, "Shape"])
    required: frozenset[str] = frozenset()
    items: Shape | None = None
    others: Shape | None = None


OPEN: Final = Shape()
"""Demands nothing."""


class Schemas:
    """The schemas of one document. Single-owner: it counts while it reads."""

    def __init__(self, document: Mapping[str, Any], *, three_zero: bool) -> None:
        self.unsaid: Counter[str] = Counter()
        self._document = document
        self._three_zero = three_zero
        self._known: dict[str, Shape] = {}
        self._open: list[str] = []
        self._cuts = 0
        self._left = _SHAPES

    def begin(self) -> None:
        """A new operation: it may look at as many schemas as the one before."""
        self._left = _SHAPES

    def resolved(self, value: Any) -> dict[str, Any]:
        """An object of the document, its references followed; empty when it leads nowhere."""
        for _ in range(_DEPTH):
            if not isinstance(value, dict):
                return {}
            found = cast("dict[str, Any]", value)
            if not isinstance(target := found.get("$ref"), str):
                return found
            value = self._at(target)
        return {}

    def shape(self, schema: Any, depth: int = 0) -> Shape:
        """The shape of a schema, which may be anything that a careless document holds."""
        if not isinstance(schema, dict):
            return OPEN
        raw = cast("dict[str, Any]", schema)
        if self._left <= 0 or depth > _DEPTH:
            self.unsaid["depth"] += 1
            self._cuts += 1
            return Shape(kinds=_kinds(raw, three_zero=self._three_zero))
        self._left -= 1
        target = raw.get("$ref")
        if isinstance(target, str):
            named = self._named(target, depth)
            beside = {k: v for k, v in raw.items() if k != "$ref"}
            # Up to 3.0 whatever stands beside a reference has no meaning.
            if self._three_zero or not beside:
                return named
            return _both(named, self.shape(beside, depth))
        return self._own(raw, depth)

    def _named(self, target: str, depth: int) -> Shape:
        if target in self._known:
            return self._known[target]
        value = self._at(target)
        if target in self._open:
            # A type that holds itself: said once, and its own members are not said again.
            self._cuts += 1
            return Shape(kinds=_kinds(self.resolved(value), three_zero=self._three_zero))
        self._open.append(target)
        cuts = self._cuts
        found = self.shape(value, depth)
        self._open.pop()
        if cuts == self._cuts:
            self._known[target] = found
        return found

    def _own(self, raw: dict[str, Any], depth: int) -> Shape:
        for keyword in _UNSAID:
            if keyword in raw:
                self.unsaid[keyword] += 1
        below = depth + 1
        members: dict[str, Shape] = {}
        for name, member in _items(raw.get("properties")):
            if member is not False and not self._only_in_answers(member):
                members[name] = self.shape(member, below)
        others = raw.get("additionalProperties")
        own = Shape(
            kinds=_kinds(raw, three_zero=self._three_zero),
            limits=self._limits(raw),
            members=members,
            required=frozenset(name for name in _list(raw.get("required")) if isinstance(name, str))
            & members.keys(),
            items=self.shape(raw["items"], below) if isinstance(raw.get("items"), dict) else None,
            others=self.shape(others, below) if isinstance(others, dict) and others else None,
        )
        for part in _list(raw.get("allOf")):
            own = _both(own, self.shape(part, depth))
        for keyword in ("oneOf", "anyOf"):
            alternatives = _list(raw.get(keyword))
            if alternatives:
                own = _both(own, either([self.shape(one, depth) for one in alternatives]))
        return own

    def _only_in_answers(self, member: Any) -> bool:
        """Whether a member is `readOnly`, which is not demanded of a request."""
        raw = cast("dict[str, Any]", member) if isinstance(member, dict) else {}
        target = raw.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            found = self._found(target)
            return isinstance(found, dict) and cast("dict[str, Any]", found).get("readOnly") is True
        return raw.get("readOnly") is True

    def _limits(self, raw: dict[str, Any]) -> dict[str, Any]:
        limits: dict[str, Any] = {}
        for name, kinds in _LIMITS.items():
            value = raw.get(name)
            if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
                limits[name] = value
        if raw.get("default") is not None:
            limits["default"] = raw["default"]
        if raw.get("additionalProperties") is False:
            limits["additionalProperties"] = False
        choices = [raw["const"]] if "const" in raw else _list(raw.get("enum"))
        if choices:
            limits["enum"] = _sorted(choices)
        for name, value in list(limits.items()):
            if not _portable(value):
                self.unsaid[name] += 1
                del limits[name]
        return _bounds(limits, whole=raw.get("type") == "integer")

    def _at(self, target: str) -> Any:
        if not target.startswith("#"):
            self.unsaid["reference to another document"] += 1
            return None
        here = self._found(target)
        if here is None:
            self.unsaid["reference to nothing"] += 1
        return here

    def _found(self, target: str) -> Any:
        here: Any = self._document
        for step in target[1:].split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(here, list):
                places = cast("list[Any]", here)
                here = places[int(name)] if name.isdecimal() and int(name) < len(places) else None
            else:
                here = cast("dict[str, Any]", here).get(name) if isinstance(here, dict) else None
        return here


def either(shapes: Sequence[Shape]) -> Shape:
    """The weakest demand that all of some alternatives share."""
    null = any(shape.kinds == _NULL for shape in shapes)
    rest = [shape for shape in shapes if shape.kinds != _NULL]
    if not rest:
        return shapes[0] if shapes else OPEN
    found = rest[0] if len(rest) == 1 else _weakest(rest)
    if null and found.kinds is not None:
        return replace(found, kinds=found.kinds | {"null"})
    return found


def _weakest(shapes: Sequence[Shape]) -> Shape:
    kinds: set[str] | None = set()
    required = set(shapes[0].required)
    for shape in shapes:
        kinds = None if kinds is None or shape.kinds is None else kinds | shape.kinds
        required &= shape.required
    everywhere = set[str].intersection(*(set(shape.members) for shape in shapes))
    members: dict[str, Shape] = {}
    for name in dict.fromkeys(name for shape in shapes for name in shape.members):
        said = [shape.members[name] for shape in shapes if name in shape.members]
        merged = said[0] if len(said) == 1 else either(said)
        # An alternative that is silent about a member lets it be anything of its type.
        members[name] = merged if name in everywhere else Shape(kinds=merged.kinds)
    return Shape(
        kinds=None if kinds is None else frozenset(kinds),
        limits=reduce(_weaker, (shape.limits for shape in shapes)),
        members=members,
        required=frozenset(required),
        items=_each([shape.items for shape in shapes]),
        others=_each([shape.others for shape in shapes]),
    )


def _each(shapes: Sequence[Shape | None]) -> Shape | None:
    said = [shape for shape in shapes if shape is not None]
    return either(said) if len(said) == len(shapes) else None


def _weaker(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for name in one.keys() & other.keys():
        mine, theirs = one[name], other[name]
        if name == "enum":
            limits[name] = _sorted([*mine, *theirs])
        elif name in _HIGHEST:
            limits[name] = min(mine, theirs)
        elif name in _LOWEST:
            limits[name] = max(mine, theirs)
        elif _same(mine, theirs):
            limits[name] = mine
    return limits


def _both(one: Shape, other: Shape) -> Shape:
    kinds = one.kinds
    if other.kinds is not None:
        kinds = other.kinds if kinds is None else _common(kinds, other.kinds)
    members = dict(one.members)
    for name, shape in other.members.items():
        members[name] = _both(members[name], shape) if name in members else shape
    return Shape(
        kinds=kinds,
        limits=_stronger(one.limits, other.limits),
        members=members,
        required=one.required | other.required,
        items=_joined(one.items, other.items),
        others=_joined(one.others, other.others),
    )


def _joined(one: Shape | None, other: Shape | None) -> Shape | None:
    if one is None or other is None:
        return one if other is None else other
    return _both(one, other)


def _common(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The kinds that both allow; an integer is a number."""
    found = one & other
    if "number" in one | other and "integer" in one | other and "number" not in found:
        found |= {"integer"}
    return found


def _stronger(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    limits = {**one, **other}
    for name in one.keys() & other.keys():
        mine, theirs = one[name], other[name]
        if name == "enum":
            limits[name] = [v for v in mine if any(_same(v, w) for w in theirs)] or theirs
        elif name in _HIGHEST:
            limits[name] = max(mine, theirs)
        elif name in _LOWEST:
            limits[name] = min(mine, theirs)
    return limits


def _kinds(raw: Mapping[str, Any], *, three_zero: bool) -> frozenset[str] | None:
    said = raw.get("type")
    listed = [said] if isinstance(said, str) else _list(said)
    kinds = frozenset(kind for kind in listed if isinstance(kind, str) and kind)
    if not kinds or not all(isinstance(kind, str) for kind in listed):
        if isinstance(raw.get("properties"), dict):
            return frozenset({"object"})
        return None
    return kinds | {"null"} if three_zero and raw.get("nullable") is True else kinds


def _bounds(limits: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """The limits with their bounds in one form, whichever version they were written for."""
    for bound, other, step in _EXCLUSIVE:
        # In 3.0 it is a flag on the bound beside it; from 3.1 on it is a bound of its own.
        flag = limits.pop(bound) if isinstance(limits.get(bound), bool) else False
        if flag and other in limits:
            limits[bound] = limits.pop(other)
        if whole and isinstance(limits.get(bound), int):
            # Whole numbers beyond a bound begin one further; so said, the bound is a value itself.
            limits[other] = limits.pop(bound) + step
    return limits


def _portable(value: Any) -> bool:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return True
    if isinstance(value, int | float):
        return abs(value) <= _SAFE_INTEGER
    if isinstance(value, list):
        return all(map(_portable, cast("list[Any]", value)))
    return isinstance(value, dict) and all(map(_portable, cast("dict[str, Any]", value).values()))


def _sorted(choices: Iterable[Any]) -> list[Any]:
    """Choices in an order of their own: a document that shuffles them has not changed."""
    found: list[Any] = []
    for choice in choices:
        if isinstance(choice, str | int | float | None) and not any(
            _same(choice, known) for known in found
        ):
            found.append(choice)
    return sorted(found, key=lambda v: (type(v).__name__, v if v is not None else 0))


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    return cast("dict[str, Any]", value).items() if isinstance(value, dict) else ()


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
