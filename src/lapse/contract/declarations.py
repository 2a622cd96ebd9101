"""Tables, rules and policies from plain mappings, as a YAML or JSON file holds them.

::

    tables:
      active_csm_codes:
        version: "1.0.0"
        rows:
          plan_partner_growth: {code: SUMMERSALE25}
    rules:
      - {from: active_csm_codes, to: promo_eligibility, relation: requires_recognition, via: code}
    policies:
      - id: assigned-code
        operation: POST /v1/subscriptions
        title: The plan's assigned promotion code is missing
        detail: The plan has a code assigned to it, and the request carries another or none.
        look_ups:
          assigned: {table: active_csm_codes, key: {field: plan}}
        require: {field: promotion_code, equals: {look_up: assigned, member: code}}
        suggest:
          type: ADD_PROMOTION_CODE
          parameters: {promotion_code: {look_up: assigned, member: code}}

Whatever is not as it should be is refused with the place where it stands: a typing error in a
declaration must not become a policy that never applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lapse.contract.messages import CacheHint
from lapse.contract.policies import (
    Check,
    Constant,
    Field,
    Found,
    LookUp,
    Operand,
    Policy,
    Rounded,
    Template,
    Test,
)
from lapse.contract.registry import Registry
from lapse.contract.rules import Rule
from lapse.contract.tables import Table, following_version
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Declaration", "declaration"]

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a file declares.

    Attributes:
        registry: the tables and rules.
        policies: the policies, in the order in which they are checked.
    """

    registry: Registry
    policies: tuple[Policy, ...]


def declaration(value: object) -> Declaration:
    """Read a declaration.

    Raises:
        InvalidValue: something in it is not as it should be; the field says where.
    """
    top = _Place("the file", value).members("tables", "rules", "policies")
    tables = [_table(name, at) for name, at in top["tables"].named()]
    rules = [_rule(at) for at in top["rules"].listed()]
    registry = Registry.of(tables, rules)
    policies = tuple(_policy(at) for at in top["policies"].listed())
    seen: set[str] = set()
    for policy in policies:
        for table in sorted(policy.tables() - registry.tables.keys()):
            loaded = ", ".join(registry.tables) or "none"
            remedy = f"name a declared table: {loaded}"
            raise InvalidValue(f"policy {policy.id}: table", table, remedy)
        if policy.id in seen:
            raise InvalidValue("policies", policy.id, "give each policy an id of its own")
        seen.add(policy.id)
    return Declaration(registry, policies)


@dataclass(frozen=True, slots=True)
class _Place:
    """A value and where it stands."""

    path: str
    value: object

    def refuse(self, remedy: str) -> InvalidValue:
        shown = "nothing" if self.value is _MISSING else self.value
        return InvalidValue(self.path, shown, remedy)

    def members(self, *known: str) -> dict[str, _Place]:
        """The members of an object, each at its place, present or not; no others are allowed."""
        held = self._object()
        for name in held:
            if name not in known:
                remedy = f"use only: {', '.join(known)}"
                raise InvalidValue(f"{self.path}.{name}", held[name], remedy)
        return {name: _Place(f"{self.path}.{name}", held.get(name, _MISSING)) for name in known}

    def named(self) -> Iterable[tuple[str, _Place]]:
        """The entries of an object whose keys are free; none when it is not there."""
        held: dict[str, Any] = {} if self.value is _MISSING else self._object()
        return [(name, _Place(f"{self.path}.{name}", entry)) for name, entry in held.items()]

    def listed(self) -> list[_Place]:
        """The elements of a list; none when it is not there."""
        if self.value is _MISSING:
            return []
        if not isinstance(self.value, list):
            raise self.refuse("give a list")
        elements = cast("list[object]", self.value)
        return [_Place(f"{self.path}[{i}]", element) for i, element in enumerate(elements)]

    def text(self, default: str | None = None) -> str:
        if self.value is _MISSING and default is not None:
            return default
        if not isinstance(self.value, str):
            raise self.refuse("give text (in quotes, if it looks like a number)")
        return self.value

    def optional_text(self) -> str | None:
        return None if self.value is _MISSING else self.text()

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.refuse("give an object with named members")
        held = cast("dict[object, Any]", self.value)
        for name in held:
            if not isinstance(name, str):
                raise InvalidValue(f"{self.path}: name", name, "put the name in quotes")
        return cast("dict[str, Any]", held)


def _table(name: str, at: _Place) -> Table:
    parts = at.members("version", "rows")
    rows = {key: place.value for key, place in parts["rows"].named()}
    version = parts["version"].optional_text()
    try:
        return Table(name, rows, version or following_version(None, rows))
    except InvalidValue as failure:
        raise InvalidValue(f"{at.path}: {failure.field}", failure.value, failure.remedy) from None


def _rule(at: _Place) -> Rule:
    parts = at.members("from", "to", "relation", "via")
    return Rule(
        parts["from"].text(), parts["to"].text(), parts["relation"].text(), parts["via"].text("")
    )


def _policy(at: _Place) -> Policy:
    parts = at.members(
        "id", "operation", "title", "detail", "when", "look_ups", "require", "suggest"
    )
    suggest = parts["suggest"]
    return Policy(
        id=parts["id"].text(),
        operation=parts["operation"].text(),
        title=parts["title"].text(),
        detail=parts["detail"].text(),
        when=tuple(_check(check) for check in parts["when"].listed()),
        look_ups={name: _look_up(place) for name, place in parts["look_ups"].named()},
        require=_check(parts["require"]),
        fix=None if suggest.value is _MISSING else _template(suggest),
    )


def _look_up(at: _Place) -> LookUp:
    parts = at.members("table", "key")
    return LookUp(parts["table"].text(), _operand(parts["key"]))


def _template(at: _Place) -> Template:
    parts = at.members("type", "parameters", "table", "cache_hint")
    hint = parts["cache_hint"].optional_text()
    if hint is not None and hint not in {known.value for known in CacheHint}:
        raise parts["cache_hint"].refuse("write cacheable or recompute, or leave it out")
    return Template(
        type=parts["type"].text(),
        parameters={path: _operand(place) for path, place in parts["parameters"].named()},
        table=parts["table"].optional_text(),
        cache_hint=None if hint is None else CacheHint(hint),
    )


def _check(at: _Place) -> Check:
    tests = [test.value for test in Test]
    parts = at.members("field", "look_up", "member", *tests)
    asked = [test for test in Test if parts[test.value].value is not _MISSING]
    if len(asked) != 1:
        raise at.refuse(f"ask one thing of it: {', '.join(tests)}")
    test = asked[0]
    subject = {n: parts[n].value for n in ("field", "look_up", "member")}
    given = {name: value for name, value in subject.items() if value is not _MISSING}
    try:
        return Check(_operand(_Place(at.path, given)), test, _operand(parts[test.value]))
    except InvalidValue as failure:
        if failure.field != test.value:
            raise
        raise InvalidValue(f"{at.path}.{test.value}", failure.value, failure.remedy) from None


def _operand(at: _Place) -> Operand:
    if at.value is _MISSING:
        raise at.refuse("say what it is")
    if not isinstance(at.value, dict):
        return Constant(at.value)
    names = set(cast("dict[object, object]", at.value))
    if names == {"field"}:
        return Field(at.members("field")["field"].text())
    if names in ({"look_up"}, {"look_up", "member"}):
        parts = at.members("look_up", "member")
        return Found(parts["look_up"].text(), parts["member"].text(""))
    if names == {"value"}:
        return Constant(at.members("value")["value"].value)
    if names == {"round", "decimals"}:
        parts = at.members("round", "decimals")
        decimals = parts["decimals"].value
        if type(decimals) is not int:
            raise parts["decimals"].refuse("give a whole number")
        return Rounded(parts["round"].text(), decimals)
    raise at.refuse(
        "write {field: …}, {look_up: …, member: …}, {round: …, decimals: …} or {value: …}"
    )
