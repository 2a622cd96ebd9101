"""A service made of declared policies alone: it validates requests and does nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import violations
from lapse.errors import InvalidValue
from lapse.server.exchange import (
    Answer,
    Disconnected,
    TooLarge,
    header,
    json_answer,
    problem_answer,
    read_body,
    respond,
)
from lapse.server.middleware import ContractMiddleware
from lapse.wire import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.contract import Policy, Registry
    from lapse.ledger import JsonObject
    from lapse.server.contract import Contract
    from lapse.server.exchange import ASGIApp, Receive, Scope, Send

__all__ = ["application"]

_REQUEST_BYTES = 1024 * 1024
_UNCHECKED = (
    "The request cannot be checked",
    "A table that decides about it is not loaded at present.",
)


def application(contract: Contract, policies: Sequence[Policy]) -> ASGIApp:
    """An ASGI application that answers the policies' operations.

    A request that satisfies the policies of its operation is answered with 200 and the contract
    members; one that violates a policy, with 422 and the first violation; one that cannot be read,
    with 400. While a table that they read is not loaded, nobody can say: the answer is 503. The
    contract's endpoints and headers are there too.
    """
    operations = dict.fromkeys(policy.operation for policy in policies)
    validating = _Validating(contract, policies, operations)
    return ContractMiddleware(validating, contract, operations=operations)


class _Validating:
    def __init__(
        self, contract: Contract, policies: Sequence[Policy], operations: Iterable[str]
    ) -> None:
        self._contract = contract
        self._policies = tuple(policies)
        self._operations: dict[str, list[str]] = {}
        self._tables = {
            operation: frozenset[str]().union(
                *(policy.tables() for policy in policies if policy.operation == operation)
            )
            for operation in operations
        }
        for operation in operations:
            method, _, path = operation.partition(" ")
            if not method.isupper() or not path.startswith("/"):
                remedy = "write a method and a path, as POST /v1/subscriptions"
                raise InvalidValue("operation", operation, remedy)
            self._operations.setdefault(path, []).append(method)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except Disconnected:
            return
        await respond(answer, scope, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        methods = self._operations.get(path)
        if methods is None:
            return self._unread(404, "No such operation", "No policy names this path.", scope)
        if scope["method"] not in methods:
            allowed = ", ".join(methods)
            refused = self._unread(405, "Method not allowed", f"Use {allowed}.", scope)
            return refused.with_headers((b"allow", allowed.encode()))
        try:
            body = await read_body(receive, scope, limit=_REQUEST_BYTES)
        except TooLarge:
            return self._unread(413, "The request is too large", "Send a shorter one.", scope)
        request = _object(body)
        if request is None:
            return self._unread(400, "The request cannot be read", "Send one JSON object.", scope)
        return self._judged(f"{scope['method']} {path}", request, scope)

    def _judged(self, operation: str, request: JsonObject, scope: Scope) -> Answer:
        with self._contract.reading() as tables:
            if not self._tables[operation] <= tables.registry.tables.keys():
                return self._unread(503, *_UNCHECKED, scope, tables.registry)
            found = violations(self._policies, operation, request, tables)
        if found:
            accept = header(scope, b"accept")
            return self._contract.problem(found[0], registry=tables.registry, accept=accept)
        members = self._contract.envelope_members() or {"success": True}
        return json_answer(members, (b"cache-control", b"no-store"))

    def _unread(
        self, status: int, title: str, detail: str, scope: Scope, registry: Registry | None = None
    ) -> Answer:
        """What is said of a request that no policy was asked about.

        The members are in the body too: a header line cannot say that no table is loaded at all.
        """
        members = self._contract.failure_members(registry or self._contract.registry, ())
        members.pop("success", None)  # no policy was violated: none was looked at
        problem = Problem(title=title, status=status, detail=detail)
        return problem_answer(problem, members, accept=header(scope, b"accept"))


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        else:
            await send({"type": "lifespan.shutdown.complete"})
            return
