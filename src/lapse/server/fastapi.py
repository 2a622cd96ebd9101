"""The contract's seat in a FastAPI application.

::

    app = FastAPI()
    contract = Contract(registry, operator_token=token)
    install(app, contract)

    @app.post("/v1/subscriptions")
    def subscribe(order: Order) -> Subscription:
        with contract.reading() as tables:
            ...                               # raise Rejected(Violation(...)) when it is violated

`install` adds the headers and endpoints, answers `Rejected` with one 422 problem document, merges
the contract members into JSON objects of successful answers, and describes the 422 in OpenAPI.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import Violation
from lapse.errors import MissingExtra
from lapse.server.contract import Contract, Rejected
from lapse.server.middleware import ContractMiddleware
from lapse.wire import schemas, write

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.routing import APIRoute
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "the contract in a FastAPI application"
    raise MissingExtra(feature, "server") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from lapse.server.exchange import Answer

__all__ = ["envelope_route", "install", "problem_responses"]

_VALIDATION_ERROR = {
    "type": "object",
    "required": ["detail"],
    "properties": {"detail": {"type": "array", "items": {"type": "object"}}},
}


def problem_responses(*, validation: bool = False) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of the 422 answer; for the `responses` of routers of your own.

    Args:
        validation: as `install`: without it, FastAPI's own form of a validation error is possible.
    """
    problem = _inlined(schemas()["problem"])
    schema = problem if validation else {"anyOf": [problem, _VALIDATION_ERROR]}
    described = {"schema": schema}
    return {
        422: {
            "description": "The request is not accepted; suggestions say what would pass.",
            "content": {"application/problem+json": described, "application/json": described},
        }
    }


def install(
    app: FastAPI, contract: Contract, *, envelope: bool = True, validation: bool = False
) -> None:
    """Seat a contract in an application. Call it before the routes are declared.

    Args:
        app: the application.
        contract: its contract.
        envelope: whether to merge the contract members into successful JSON objects; headers carry
            them in any case.
        validation: whether a request that does not fit its model is answered with the problem
            document too, instead of FastAPI's own form. Such an answer has no suggestions.
    """

    async def rejected(request: Request, failure: Exception) -> Response:
        refusal = cast("Rejected", failure)
        accept = request.headers.get("accept")
        return _response(
            contract.problem(refusal.violation, registry=refusal.registry, accept=accept)
        )

    async def invalid(request: Request, failure: Exception) -> Response:
        errors = cast("RequestValidationError", failure).errors()
        violation = Violation(
            policy="request-shape",
            title="The request does not have the declared shape",
            detail="Members that do not fit are listed in errors.",
            # Neither input nor context: they repeat what the client sent, secrets included.
            more={
                "errors": [
                    {"loc": list(e["loc"]), "msg": e["msg"], "type": e["type"]} for e in errors
                ]
            },
        )
        return _response(contract.problem(violation, accept=request.headers.get("accept")))

    app.add_middleware(ContractMiddleware, contract=contract)
    app.add_exception_handler(Rejected, rejected)
    if validation:
        app.add_exception_handler(RequestValidationError, invalid)
    app.router.responses = {**problem_responses(validation=validation), **app.router.responses}
    if envelope:
        app.router.route_class = envelope_route(contract, app.router.route_class)


def _response(answer: Answer) -> Response:
    response = Response(answer.body, answer.status)
    response.raw_headers = [
        *answer.headers,
        (b"content-length", str(len(answer.body)).encode()),
    ]
    return response


def envelope_route(contract: Contract, route: type[APIRoute] = APIRoute) -> type[APIRoute]:
    """A route class whose successful JSON objects carry the contract members.

    `install` sets it for the application; give it to an `APIRouter` of your own as `route_class`.
    """

    class EnvelopeRoute(route):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def enveloped(request: Request) -> Response:
                return _enveloped(await handler(request), contract)

            return enveloped

    return EnvelopeRoute


def _enveloped(response: Response, contract: Contract) -> Response:
    body = getattr(response, "body", b"")  # a stream has none, and stays one
    successful = 200 <= response.status_code < 300  # noqa: PLR2004 - the class of RFC 9110, 15.3
    if not (successful and body and _is_json(response)):
        return response
    value: object = json.loads(body)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        response.body = write({**contract.envelope_members(), **members})
        response.headers["content-length"] = str(len(response.body))
    return response


def _is_json(response: Response) -> bool:
    return response.headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references: in an OpenAPI document they would start from its root."""
    definitions: dict[str, Any] = schema.get("$defs", {})

    def inline(value: Any) -> Any:
        match value:
            case {"$ref": str(target)}:
                return inline(definitions[target.rpartition("/")[2]])
            case dict():
                members = cast("dict[str, Any]", value)
                return {n: inline(v) for n, v in members.items() if n not in ("$defs", "$schema")}
            case list():
                return [inline(one) for one in cast("list[Any]", value)]
            case _:
                return value

    return inline(schema)
