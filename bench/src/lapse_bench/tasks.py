"""What an agent is asked to do, in words and as a request; never what would make it right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.judges import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.ledger import JsonObject

__all__ = ["task_of"]

_WORDS: Final[Mapping[str, str]] = {
    "POST /v1/subscriptions": "Subscribe a customer to a plan or a programme.",
    "POST /v1/payments": "Charge a customer for what was agreed.",
    "POST /v1/customers": "Take a new customer in.",
    "POST /v1/conversions": "Adapt a recipe to a guest and a diet.",
}
"""What a person would say. They name no field and no value: whoever read a fix out of them would
have been told it by the benchmark (a test looks)."""


def task_of(
    operation: str, request: JsonObject, *, episode: int, schemas: Mapping[str, JsonObject]
) -> Task:
    """A task of a stream.

    Args:
        operation: method and path.
        request: what it would send without any memory.
        episode: its index, which tells it from the same task at another time.
        schemas: the JSON Schemas of requests by operation, where the world declares them.
    """
    return Task(
        operation=operation,
        request=request,
        words=_WORDS.get(operation, ""),
        schema=schemas.get(operation),
        key=str(episode),
    )
