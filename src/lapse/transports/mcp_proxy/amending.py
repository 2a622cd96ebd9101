"""Merging fixes into a call under the tool's own input schema; no I/O.

A fix is merged whole or not at all, and only if the schema declares every field it sets and takes
the call that comes out of it. A schema that cannot be read lets nothing through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from jsonschema.validators import validator_for
from referencing import Registry

from lapse.contract import amend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["Amended", "amended"]

_DEEPEST = 16
"""References followed, and levels of nesting: tools have two or three."""


@dataclass(frozen=True, slots=True)
class Amended:
    """A call with what was merged into it.

    Attributes:
        arguments: the arguments to send.
        merged: the fixes that were merged, in order.
        refused: the fixes that the schema does not let through.
    """

    arguments: JsonObject
    merged: tuple[Fix, ...] = ()
    refused: tuple[Fix, ...] = ()


def amended(arguments: JsonObject, fixes: Sequence[Fix], schema: JsonObject | None) -> Amended:
    """Merge the fixes that the schema allows.

    Args:
        arguments: what the agent wants to send.
        fixes: those that hold for these arguments, oldest first.
        schema: the tool's input schema; None when it is not known, and nothing is merged.
    """
    merged: list[Fix] = []
    refused: list[Fix] = []
    current = dict(arguments)
    for fix in fixes:
        candidate = amend(current, fix.parameters)
        if candidate == current:
            continue
        allowed = schema is not None and _declares(schema, fix.parameters, schema, _DEEPEST)
        if schema is not None and allowed and _takes(schema, candidate):
            current = candidate
            merged.append(fix)
        else:
            refused.append(fix)
    return Amended(current, tuple(merged), tuple(refused))


def _declares(schema: object, parameters: JsonObject, root: JsonObject, levels: int) -> bool:
    """Whether a schema names every field of the parameters, down to the innermost object."""
    if levels == 0:
        return False
    for name, value in parameters.items():
        inner = [s[name] for s in _properties(schema, root, levels) if name in s]
        if not inner:
            return False
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if members and not any(_declares(s, members, root, levels - 1) for s in inner):
                return False
    return True


def _properties(schema: object, root: JsonObject, levels: int) -> Iterator[dict[str, Any]]:
    """The `properties` of a schema, through references inside the document and alternatives."""
    if levels == 0 or not isinstance(schema, dict):
        return
    members = cast("dict[str, Any]", schema)
    properties = members.get("properties")
    if isinstance(properties, dict):
        yield cast("dict[str, Any]", properties)
    reference = members.get("$ref")
    if isinstance(reference, str):
        yield from _properties(_referred(root, reference), root, levels - 1)
    for word in ("allOf", "anyOf", "oneOf"):
        branches = members.get(word)
        for branch in cast("list[object]", branches) if isinstance(branches, list) else []:
            yield from _properties(branch, root, levels - 1)


def _referred(root: JsonObject, reference: str) -> object:
    if not reference.startswith("#/"):
        return None
    here: object = root
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(here, dict):
            return None
        name = part.replace("~1", "/").replace("~0", "~")
        here = cast("dict[str, object]", here).get(name)
    return here


def _takes(schema: JsonObject, arguments: JsonObject) -> bool:
    try:
        kind: Any = validator_for(dict(schema))
        # An empty registry: a reference leads nowhere outside the schema's own document.
        nowhere: Registry[Any] = Registry()
        return bool(kind(dict(schema), registry=nowhere).is_valid(dict(arguments)))
    except Exception:  # noqa: BLE001 - whatever is wrong with a stranger's schema, it allows nothing
        return False
