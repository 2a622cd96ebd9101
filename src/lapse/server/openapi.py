"""Reads an OpenAPI document (3.0 or 3.1) into tables: one row for each demand on a request.

::

    described = read_openapi(Path("api.json").read_bytes())
    described.tables["petstore"]["GET /pets#query.limit"]   # {"type": "integer", "maximum": 100}

A row's key is ``METHOD path#in.name``, where `in` is `path`, `query`, `header`, `cookie` or `body`;
a member of an object follows after a dot, an array's items are ``[]``, members without a name are
``.*``. A row says what is demanded there: `type` (alternatives joined by ``|``), `required`, `enum`
(sorted; a `const` is one choice), `default`, `minimum`, `maximum`, `maxLength`, `pattern`, `format`
and what else JSON Schema says of one value. What a row cannot say is counted in `unsaid`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import urlsplit

from lapse.contract import check_name, is_name
from lapse.errors import InvalidValue
from lapse.server.openapi_shapes import OPEN, Schemas, Shape, either
from lapse.server.strict_yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Described", "Grouping", "Operation", "read_openapi"]

Grouping = Literal["service", "tag"]
"""One table for the whole service, or one for each operation's first tag."""

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES: Final = frozenset({"path", "query", "header", "cookie"})
_READABLE: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
_ROWS: Final = 1_000_000
"""Rows of one document; the largest public ones have a tenth of it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a document.

    Attributes:
        method: in capitals.
        path: its template.
        table: the table that holds its rows.
    """

    method: str
    path: str
    table: str

    @property
    def name(self) -> str:
        """Method and template, as the keys of its rows begin."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a document says of requests.

    Attributes:
        service: names the table, or begins the names of the tables.
        title: the document's own.
        version: the document's own; it names no content, so no table is versioned by it.
        bases: the paths of its servers, under which its templates may stand.
        operations: every operation, also those that demand nothing.
        tables: rows by key, by table.
        unsaid: what rows cannot say, with how often it was met.
    """

    service: str
    title: str
    version: str
    bases: tuple[str, ...]
    operations: tuple[Operation, ...]
    tables: Mapping[str, Mapping[str, Any]]
    unsaid: Mapping[str, int]


def read_openapi(
    text: str | bytes, *, service: str | None = None, grouping: Grouping = "service"
) -> Described:
    """Read a document, JSON or YAML.

    Args:
        text: the document; references to other documents are not followed.
        service: names the table, or begins the names of the tables; None: the title does.
        grouping: how operations share tables.

    Raises:
        InvalidValue: it is not an OpenAPI document of version 3.
    """
    value = _parsed(text)
    match value:
        case {"openapi": str(said), "paths": dict()} if re.match(r"3\.[0-2]\b", said):
            document = cast("dict[str, Any]", value)
        case {"swagger": object() as said}:
            raise InvalidValue("swagger", said, "convert the document to OpenAPI 3.0 or 3.1")
        case {"openapi": object() as said}:
            raise InvalidValue("openapi", said, "pass a document of 3.0 or 3.1 that has paths")
        case _:
            remedy = "pass an OpenAPI document: openapi, info, paths"
            raise InvalidValue("the document", value, remedy)
    info = document.get("info")
    about = cast("dict[str, Any]", info) if isinstance(info, dict) else {}
    title = str(about.get("title", ""))
    if service is not None and ":" in check_name("service", service):
        raise InvalidValue("service", service, "leave out ':', which ends a table's name")
    service = service or _name(title)
    reader = _Reader(document, service, grouping)
    reader.read()
    return Described(
        service=service,
        title=title,
        version=str(about.get("version", "")),
        bases=tuple(_bases(document)),
        operations=tuple(reader.operations),
        tables=reader.tables,
        unsaid=dict(reader.schemas.unsaid),
    )


class _Reader:
    def __init__(self, document: dict[str, Any], service: str, grouping: Grouping) -> None:
        self.schemas = Schemas(document, three_zero=document["openapi"].startswith("3.0"))
        self.operations: list[Operation] = []
        self.tables: dict[str, dict[str, Any]] = {service: {}} if grouping == "service" else {}
        self._document = document
        self._service = service
        self._grouping = grouping
        self._left = _ROWS

    def read(self) -> None:
        for path, item in self._document["paths"].items():
            members = self.schemas.resolved(item)
            for method in _METHODS:
                if isinstance(members.get(method), dict) and str(path).startswith("/"):
                    self._read_operation(method.upper(), str(path), members, members[method])

    def _read_operation(
        self, method: str, path: str, item: dict[str, Any], raw: dict[str, Any]
    ) -> None:
        self.schemas.begin()
        operation = Operation(method, path, self._table(raw))
        self.operations.append(operation)
        rows = self.tables.setdefault(operation.table, {})
        for key, row in self._rows(item, raw):
            full = f"{operation.name}#{key}"
            if not is_name(full):
                self.schemas.unsaid["name"] += 1
                continue
            rows[full] = row
            self._left -= 1
            if self._left < 0:
                remedy = f"pass a document of at most {_ROWS} rows"
                raise InvalidValue("the document", self._service, remedy)

    def _table(self, raw: dict[str, Any]) -> str:
        tags = raw.get("tags")
        if self._grouping == "service" or not isinstance(tags, list) or not tags:
            return self._service
        return f"{self._service}/{_name(str(cast('list[Any]', tags)[0]))}"

    def _rows(
        self, item: dict[str, Any], raw: dict[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for (place, name), parameter in self._parameters(item, raw).items():
            shape = self._parameter_shape(parameter)
            required = place == "path" or parameter.get("required") is True
            yield from _said(f"{place}.{name}", shape, required=required)
        body = self.schemas.resolved(raw.get("requestBody"))
        shape = self._body_shape(body.get("content"))
        if shape is not None:
            yield from _said("body", shape, required=body.get("required") is True)

    def _parameters(
        self, item: dict[str, Any], raw: dict[str, Any]
    ) -> dict[tuple[str, str], dict[str, Any]]:
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for listed in (item.get("parameters"), raw.get("parameters")):
            for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
                parameter = self.schemas.resolved(one)
                place, name = parameter.get("in"), parameter.get("name")
                if place not in _PLACES or not isinstance(name, str) or not name:
                    continue
                found[str(place), name] = parameter
        return found

    def _parameter_shape(self, parameter: dict[str, Any]) -> Shape:
        if "schema" in parameter:
            return self.schemas.shape(parameter["schema"])
        if "content" in parameter:  # JSON inside a text: the row says that it is there, no more
            self.schemas.unsaid["content of a parameter"] += 1
        return OPEN

    def _body_shape(self, content: Any) -> Shape | None:
        if not isinstance(content, dict):
            return None
        schemas: list[Any] = []
        for kind, media in cast("dict[str, Any]", content).items():
            essence = kind.partition(";")[0].strip().lower()
            if essence.endswith(("/json", "+json")) or essence in _READABLE:
                schema = self.schemas.resolved(media).get("schema", {})
                if schema not in schemas:
                    schemas.append(schema)
            else:
                self.schemas.unsaid["media type"] += 1
        return either([self.schemas.shape(schema) for schema in schemas]) if schemas else None


def _said(key: str, shape: Shape, *, required: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """A row for a value, and rows for what lies in it, outermost first."""
    pending = [(key, shape, required)]
    while pending:
        at, one, must = pending.pop()
        yield at, _row(one, required=must)
        inside = [(f"{at}.{n}", m, n in one.required) for n, m in one.members.items()]
        if one.items is not None:
            inside.append((f"{at}[]", one.items, False))
        if one.others is not None:
            inside.append((f"{at}.*", one.others, False))
        pending += reversed(inside)


def _row(shape: Shape, *, required: bool) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if shape.kinds:
        row["type"] = "|".join(sorted(shape.kinds))
    if required:
        row["required"] = True
    return {**row, **shape.limits}


def _parsed(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidValue("the document", text[:80], "nest it less deeply") from None
    except ValueError:
        return read_yaml(text)


def _name(text: str) -> str:
    """A text as the name of a table: letters, digits, and what paths and versions hold."""
    return re.sub(r"[^\w./-]+", "-", text.strip().lower()).strip("-")[:100] or "api"


def _bases(document: dict[str, Any]) -> Iterator[str]:
    servers = document.get("servers")
    for server in cast("list[Any]", servers) if isinstance(servers, list) else ():
        url = cast("dict[str, Any]", server).get("url") if isinstance(server, dict) else None
        if isinstance(url, str) and "{" not in url:
            path = urlsplit(url).path.rstrip("/")
            if path:
                yield path
