"""Checks fixes against a JSON Schema, for every transport that merges them; no I/O.

A schema has to name every field that a fix sets, and to accept what comes out. What it does not
say, it does not allow; a schema that cannot be read allows nothing; and a reference leads nowhere
outside the schema's own document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from jsonschema.validators import validator_for
from referencing import Registry

from lapse.contract import Declined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.contract import SchemaCheck
    from lapse.ledger import JsonObject

__all__ = ["check_of", "referred"]

_DEEPEST: Final = 16
"""References followed, and levels of nesting: requests have two or three."""


def check_of(schema: JsonObject, *, otherwise: type[Any] | None = None) -> SchemaCheck:
    """The check that a schema makes.

    Args:
        schema: the schema; references in it are looked up in it.
        otherwise: the dialect of a schema that does not name its own, as a class of `jsonschema`;
            the newest when left out.
    """
    root = dict(schema)
    validator = _validator(root, otherwise)

    def check(parameters: JsonObject, request: JsonObject, /) -> Declined | None:
        if not _declares(root, parameters, root, _DEEPEST):
            return Declined.NOT_IN_SCHEMA
        return None if _accepts(validator, request) else Declined.NOT_ACCEPTED

    return check


def _validator(root: dict[str, Any], otherwise: type[Any] | None) -> Any:  # no common type
    try:
        kind: Any = validator_for(root) if otherwise is None else validator_for(root, otherwise)
        nowhere: Registry[Any] = Registry()  # an empty one
        return kind(root, registry=nowhere)
    except Exception:  # noqa: BLE001 - whatever is wrong with a stranger's schema, it allows nothing
        return None


def _accepts(validator: Any, request: JsonObject) -> bool:
    try:
        return validator is not None and bool(validator.is_valid(dict(request)))
    except Exception:  # noqa: BLE001 - as above: some of it shows only in use
        return False


def _declares(schema: object, parameters: JsonObject, root: JsonObject, levels: int) -> bool:
    """Whether a schema names every field of the parameters, down to the innermost object."""
    if levels == 0:
        return False
    for name, value in parameters.items():
        inner = [s[name] for s in _properties(schema, root, levels) if name in s]
        if not inner or any(_is_read_only(s) for s in inner):
            return False
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if members and not any(_declares(s, members, root, levels - 1) for s in inner):
                return False
    return True


def _is_read_only(schema: object) -> bool:
    """Whether it says that a value is for reading alone: the service would ignore or refuse it."""
    return isinstance(schema, dict) and cast("dict[str, Any]", schema).get("readOnly") is True


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
        yield from _properties(referred(root, reference), root, levels - 1)
    for word in ("allOf", "anyOf", "oneOf"):
        branches = members.get(word)
        for branch in cast("list[object]", branches) if isinstance(branches, list) else []:
            yield from _properties(branch, root, levels - 1)


def referred(root: JsonObject, reference: str) -> object:
    """What a reference inside a document leads to; None when it leads nowhere, or out of it."""
    if not reference.startswith("#/"):
        return None
    here: object = root
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(here, dict):
            return None
        name = part.replace("~1", "/").replace("~0", "~")
        here = cast("dict[str, object]", here).get(name)
    return here
