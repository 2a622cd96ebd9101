"""What goes wrong at a workspace, as problem documents (RFC 9457) and as words for a tool's caller.

The reason of a store's failure stays here: it may name a machine, a path or an account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.errors import (
    IllegalChange,
    InvalidValue,
    LapseError,
    NotTrusted,
    StoreConflict,
    StoreError,
    UnknownRecord,
)
from lapse.server.workspace_grants import NotAllowed, NotShown
from lapse.wire import PROBLEM_JSON, Problem, problem_document, write

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PROBLEM_SCHEMA", "STATUSES", "answers", "problem_body", "problem_of"]

STATUSES: Final = {
    400: "The request cannot be read.",
    401: "A bearer token is needed that is known here.",
    403: "The caller is known, and may not do this.",
    404: "There is no such item or return, or none that the caller may name.",
    409: "It cannot follow what there is; for a view: it may not be acted on.",
    413: "The request is too large.",
    422: "A member holds what it may not hold.",
    503: "The ledger could not do it, and nothing was half done.",
}
"""What each refusal means."""

PROBLEM_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "reasons": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Reason codes, where a view is not shown.",
        },
        "errors": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Members that do not fit: where, and why.",
        },
    },
}


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of these refusals."""
    content = {PROBLEM_JSON: {"schema": dict(PROBLEM_SCHEMA)}}
    return {
        status: {"description": STATUSES[status], "content": content}
        for status in sorted({*statuses, 401, 403, 503})
    }


_TOLD: Final[tuple[tuple[type[LapseError], int, str, str], ...]] = (
    (NotShown, 409, "The view is not shown", ""),
    (NotAllowed, 403, "Not allowed", ""),
    (UnknownRecord, 404, "Nothing of this id", ""),
    (IllegalChange, 409, "This cannot follow what there is", ""),
    (InvalidValue, 422, "A member cannot be taken", ""),
    (StoreConflict, 503, "Others wrote all the time", "Try again in a moment."),
    (StoreError, 503, "The ledger could not do it", "Nothing was half done. Try again."),
    (NotTrusted, 503, "The ledger is not trusted", "Ask whoever runs this."),
)
_OTHER: Final = (LapseError, 503, "It could not be done", "Ask whoever runs this.")
"""The first that fits counts. Without words of its own, the error's are passed on: they are about
what the caller sent."""


def problem_of(error: LapseError) -> Problem:
    """What a caller is told of an error."""
    _, status, title, detail = next((one for one in _TOLD if isinstance(error, one[0])), _OTHER)
    more = {"reasons": [*error.reasons]} if isinstance(error, NotShown) else {}
    # Of a value that does not fit, the place and the remedy: the value may be somebody's words.
    said = f"{error.field}: {error.remedy}" if isinstance(error, InvalidValue) else str(error)
    return Problem(title=title, status=status, detail=detail or f"{said}.", more=more)


def problem_body(problem: Problem) -> bytes:
    """The document's bytes."""
    return write(problem_document(problem, {}))
