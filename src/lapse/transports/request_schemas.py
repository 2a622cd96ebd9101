"""What the requests of a service may hold, by operation: from JSON Schemas or an OpenAPI document.

::

    schemas = RequestSchemas.by_operation({"POST /v1/subscriptions": {"type": "object", ...}})
    schemas = RequestSchemas.from_openapi(json.loads(Path("api.json").read_bytes()))

An operation that is not there has no schema, and into a request without a schema nothing is merged.
Of an OpenAPI document (3.0 or 3.1), JSON request bodies are read, and references inside the
document are followed. No file and no address is ever looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.validators import validator_for

from lapse.errors import InvalidValue
from lapse.transports.schema_checking import check_of, referred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse.contract import SchemaCheck
    from lapse.ledger import JsonObject

__all__ = ["RequestSchemas"]

_METHODS: Final = frozenset({"put", "post", "delete", "patch"})
"""Methods whose requests have bodies that a service reads."""

_DEEPEST: Final = 64
"""Levels of a document that are read; a schema that is nested deeper is left out."""


@dataclass(frozen=True, slots=True)
class _Route:
    """One operation of a document: its path in segments, and its check, made when first asked."""

    method: str
    segments: tuple[re.Pattern[str], ...]
    literal: tuple[bool, ...]
    check: Callable[[], SchemaCheck]

    def is_for(self, method: str, segments: Sequence[str]) -> bool:
        """Whether a request with this method and these decoded segments is one of it."""
        return (
            method == self.method
            and len(segments) == len(self.segments)
            and all(p.fullmatch(s) for p, s in zip(self.segments, segments, strict=True))
        )


class RequestSchemas:
    """Finds the schema of a request. Immutable; safe to use from several threads."""

    __slots__ = ("_bases", "_named", "_routes")

    def __init__(
        self,
        named: Mapping[str, SchemaCheck],
        routes: tuple[_Route, ...] = (),
        bases: tuple[str, ...] = (),
    ) -> None:
        self._named = dict(named)
        self._routes = routes
        self._bases = bases

    @classmethod
    def by_operation(cls, schemas: Mapping[str, JsonObject]) -> RequestSchemas:
        """Schemas by operation, as the transport names it (``POST /v1/subscriptions``).

        Args:
            schemas: JSON Schemas; one that does not name its dialect is taken for 2020-12.

        Raises:
            InvalidValue: one of them is no JSON Schema.
        """
        for operation, schema in schemas.items():
            _refuse_what_is_no_schema(operation, schema)
        return cls({name: check_of(schema) for name, schema in schemas.items()})

    @classmethod
    def from_openapi(cls, document: JsonObject) -> RequestSchemas:
        """Schemas of an OpenAPI document; a request is matched by method and path template.

        Args:
            document: the document, read from its JSON or YAML.

        Raises:
            InvalidValue: it is not an OpenAPI document of version 3.0 or 3.1.
        """
        match document:
            case {"openapi": str(said), "paths": dict()} if re.match(r"3\.[01]\b", said):
                old = said.startswith("3.0")
            case _:
                remedy = "pass a document of OpenAPI 3.0 or 3.1 that has paths"
                raise InvalidValue("openapi", document.get("openapi"), remedy)
        routes = sorted(_routes(document, old=old), key=lambda route: route.literal, reverse=True)
        return cls({}, tuple(routes), tuple(_bases(document)))

    def check(self, operation: str, method: str, path: str) -> SchemaCheck | None:
        """The check for a request; None when its operation is not known.

        Args:
            operation: its operation, as the transport names it.
            method: its method, in capitals.
            path: its path as it is sent, percent-encoded, without the query.
        """
        named = self._named.get(operation)
        if named is not None:
            return named
        for candidate in (path, *(path[len(b) :] for b in self._bases if path.startswith(f"{b}/"))):
            segments = [unquote(segment) for segment in candidate.split("/")]
            for route in self._routes:
                if route.is_for(method, segments):
                    return route.check()
        return None


def _refuse_what_is_no_schema(operation: str, schema: JsonObject) -> None:
    remedy = "pass a JSON Schema as an object"
    try:
        kind: Any = validator_for(dict(schema))
        kind.check_schema(dict(schema))
    except Exception as failure:  # noqa: BLE001 - a checker may stumble over anything it is given
        reason = failure.message if isinstance(failure, SchemaError) else type(failure).__name__
        field = f"schemas[{operation!r}]"
        raise InvalidValue(field, schema, f"{remedy} ({reason})") from None


def _bases(document: JsonObject) -> Iterator[str]:
    """The paths of the document's servers, under which its templates may stand."""
    servers = document.get("servers")
    for server in cast("list[object]", servers) if isinstance(servers, list) else []:
        match server:
            case {"url": str(url)}:
                base = urlsplit(url).path.rstrip("/")
                if base:
                    yield base
            case _:
                pass


def _routes(document: JsonObject, *, old: bool) -> Iterator[_Route]:
    plain = cast("dict[str, Any]", _modern(dict(document), _DEEPEST) if old else dict(document))
    for path, item in cast("dict[str, Any]", plain["paths"]).items():
        found = _followed(plain, item)
        for method in _METHODS & found.keys():
            operation = _followed(plain, found[method])
            schema = _body_schema(plain, operation)
            if schema is not None:
                yield _route(plain, method.upper(), path, schema)


def _route(document: dict[str, Any], method: str, path: str, schema: object) -> _Route:
    segments = path.split("/")
    patterns = [
        "".join(
            "(?s:.+)" if at % 2 else re.escape(unquote(part))
            for at, part in enumerate(re.split(r"\{([^{}]*)\}", segment))
        )
        for segment in segments
    ]

    @cache
    def check() -> SchemaCheck:
        # The rest of the document stands beside the schema, so that its references lead somewhere.
        beside = {name: document.get(name) for name in ("components", "paths")}
        return check_of({"allOf": [schema], **beside}, otherwise=Draft202012Validator)

    literal = tuple("{" not in segment for segment in segments)
    return _Route(method, tuple(map(re.compile, patterns)), literal, check)


def _body_schema(document: dict[str, Any], operation: dict[str, Any]) -> object | None:
    body = _followed(document, operation.get("requestBody"))
    content = body.get("content")
    for kind, media in cast("dict[str, Any]", content).items() if isinstance(content, dict) else ():
        if kind.partition(";")[0].strip().lower() == "application/json":
            return _followed(document, media).get("schema")
    return None


def _followed(document: dict[str, Any], value: object) -> dict[str, Any]:
    """An object of a document, behind its reference if it is one; empty when there is none."""
    for _ in range(_DEEPEST):
        if not isinstance(value, dict):
            break
        members = cast("dict[str, Any]", value)
        reference = members.get("$ref")
        if not isinstance(reference, str):
            return members
        value = referred(document, reference)
    return {}


def _modern(value: object, levels: int) -> object:
    """A part of a 3.0 document in the words of 3.1: null as a type, exclusive bounds as numbers."""
    if levels == 0:
        return False  # as a schema, it accepts nothing
    if isinstance(value, list):
        return [_modern(one, levels - 1) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    if isinstance(cast("dict[str, object]", value).get("$ref"), str):
        return {"$ref": cast("dict[str, object]", value)["$ref"]}  # 3.0 ignores what stands beside
    members = {n: _modern(v, levels - 1) for n, v in cast("dict[str, object]", value).items()}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        flag = members.get(exclusive)
        if isinstance(flag, bool):
            del members[exclusive]
            if flag and bound in members:
                members[exclusive] = members.pop(bound)
    return _or_null(members) if members.get("nullable") is True else members


def _or_null(schema: dict[str, object]) -> dict[str, object]:
    kind, choices = schema.get("type"), schema.get("enum")
    if isinstance(kind, str):
        schema["type"] = [kind, "null"]
    if isinstance(choices, list):
        schema["enum"] = [*cast("list[object]", choices), None]
    return schema
