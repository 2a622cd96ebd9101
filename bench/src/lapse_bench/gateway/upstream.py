"""A service that validates requests against the rows of a history, and knows no contract."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.gateway.documents import prefixed
from lapse_bench.gateway.requests import flat_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse.server import Receive, Scope, Send
    from lapse_bench.worlds import OrganicWorld

__all__ = ["Upstream"]

_HOLE: Final = re.compile(r"\{[^{}]*\}")


class Upstream:
    """Answers 200 to a request that satisfies its rows, and 400 to one that does not.

    A refusal names the parameters that are wrong, as services do, and not what would be right.

    Args:
        world: says what is wrong with a request.
        rows: the rows of each table; they may move on between requests.
    """

    def __init__(
        self, world: OrganicWorld, rows: Mapping[str, Mapping[str, Mapping[str, Any]]]
    ) -> None:
        self._world = world
        self._rows = rows
        self._routes: dict[tuple[str, int], list[_Route]] | None = None

    def moved(self) -> None:
        """The rows have moved on."""
        self._routes = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status, answer = self._answer(scope, body)
        written = json.dumps(answer).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(written)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": written})

    def _answer(self, scope: Scope, body: bytes) -> tuple[int, dict[str, Any]]:
        path = scope["raw_path"].decode()
        found = self._route(scope["method"], path)
        if found is None:
            return 404, {"code": 20404, "message": "There is no such resource", "status": 404}
        flat = flat_of(
            found.rows,
            found.template,
            path=path,
            query=scope["query_string"],
            headers={k.decode(): v.decode() for k, v in scope["headers"]},
            body=body,
        )
        flat = {name: _typed(found.rows.get(name, {}), name, value) for name, value in flat.items()}
        objections = self._world.objections(found.table, found.subject, flat)
        wrong = sorted({name for one in objections or () for name in one.parameters})
        if not wrong:
            return 200, {"status": "accepted"}
        return 400, {
            "code": 20001,
            "message": f"Invalid parameters: {', '.join(wrong)}",
            "parameters": wrong,
            "status": 400,
        }

    def _route(self, method: str, path: str) -> _Route | None:
        if self._routes is None:
            self._routes = {}
            for route in _routes(self._rows):
                key = (route.method, route.template.count("/"))
                self._routes.setdefault(key, []).append(route)
            for routes in self._routes.values():
                routes.sort(key=lambda route: (route.template.count("{"), route.template))
        for route in self._routes.get((method, path.count("/")), ()):
            if route.pattern.fullmatch(path):
                return route
        return None


class _Route:
    __slots__ = ("method", "pattern", "rows", "subject", "table", "template")

    def __init__(self, table: str, subject: str) -> None:
        self.table = table
        self.subject = subject
        self.method, _, self.template = prefixed(table, subject).partition(" ")
        parts = _HOLE.split(self.template)
        self.pattern = re.compile("[^/]+".join(re.escape(part) for part in parts))
        self.rows: dict[str, Mapping[str, Any]] = {}


def _routes(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[_Route]:
    for table, rows in tables.items():
        found: dict[str, _Route] = {}
        for key, row in rows.items():
            subject, _, place = key.partition("#")
            if subject not in found:
                found[subject] = _Route(table, subject)
            found[subject].rows[place] = row
        yield from found.values()


def _typed(row: Mapping[str, Any], name: str, value: Any) -> Any:
    """A text of a query, a path or a header as the value that its row asks for, if it is one."""
    if name.startswith("body") or not isinstance(value, str):
        return value
    kinds = str(row.get("type", "string")).split("|")
    if "string" in kinds:
        return value
    if "array" in kinds:
        return [value]
    try:
        return json.loads(value)
    except ValueError:
        return value
