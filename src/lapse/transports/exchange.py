"""What an HTTP exchange means for a memory; no I/O, shared by both transports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urljoin, urlsplit

from lapse.contract import Envelope, Lesson, TableChanges
from lapse.errors import MalformedMessage
from lapse.wire import read_changes, read_response

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import httpx2

    from lapse.contract import Moved
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory

__all__ = ["Asked", "Naming", "answer_of", "asked_of", "body_limit", "carries_json", "question_url", "steps_of"]

CONTRACT_LOCATION = "/contract"
"""Where the contract endpoints are when a service does not announce a place."""

_NOT_OFFERED = frozenset({404, 405, 410, 501})
"""Answers that say there is no such endpoint, as against one that cannot be reached now."""

_OK = 200

Naming = "Callable[[httpx2.Request], str]"
"""From a request to a name: of its issuer or of its operation."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request's side of an exchange, read before it was sent."""

    issuer: str
    operation: str
    members: JsonObject | None
    origin: str


def asked_of(request: httpx2.Request, issuer: str | None, operation: Callable[[httpx2.Request], str] | None) -> Asked:
    """What is asked of whom.

    The issuer is the origin unless the user names one; the operation is method and path unless the
    user maps them (a path with an id in it is another operation for every id).
    """
    url = request.url
    origin = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    named = f"{request.method} {url.path}" if operation is None else operation(request)
    return Asked(origin if issuer is None else issuer, named, _members(request), origin)


def _members(request: httpx2.Request) -> JsonObject | None:
    """The request's members: a JSON object's, else a form's, else the query's; None if unreadable.

    A body that is still a stream is left alone: reading it would take it from the wrapped transport.
    """
    content: bytes | None = getattr(request, "_content", None)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content and _is_json(kind):
        try:
            value: Any = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]
    if content and kind == "application/x-www-form-urlencoded":
        return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))
    return None if content or content is None else dict(request.url.params)


def _is_json(kind: str) -> bool:
    return kind == "application/json" or kind.endswith("+json")


def carries_json(response: httpx2.Response) -> bool:
    """Whether the response's body may hold contract members."""
    return _is_json(response.headers.get("content-type", "").partition(";")[0].strip().lower())


def steps_of(
    memory: Memory, asked: Asked, headers: Sequence[tuple[bytes, bytes]], body: bytes | None
) -> tuple[Envelope, Generator[Moved, TableChanges | None, None] | None]:
    """The contract members of a response, and the steps to take it in; None when it says nothing new."""
    reading = read_response(headers, body)
    for refusal in reading.refusals:
        memory.refused(asked.issuer, refusal.reason)
    envelope = reading.envelope
    if not envelope.suggestions:
        if envelope.table_versions is None and envelope.rules_version is None:
            return envelope, None
        if memory.unchanged(asked.issuer, envelope.table_versions, envelope.rules_version):
            memory.count("unchanged")
            return envelope, None
    lesson = Lesson(
        issuer=asked.issuer, operation=asked.operation, request=asked.members, envelope=envelope, at=memory.now
    )
    return envelope, memory.receive(lesson)


def question_url(asked: Asked, envelope: Envelope, question: Moved) -> str | None:
    """Where to ask what changed; None when the announced place is not on the issuer's own origin.

    A service that could name another place could make every client call it.
    """
    base = urljoin(f"{asked.origin}/", envelope.location or CONTRACT_LOCATION)
    parts = urlsplit(base)
    if f"{parts.scheme}://{parts.netloc}" != asked.origin:
        return None
    table, since = quote(question.source.name, safe=""), quote(question.was or "", safe="")
    return f"{base.rstrip('/')}/changes?table={table}&since={since}"


def answer_of(question: Moved, status: int, body: bytes) -> TableChanges | None:
    """The service's answer; None when it gives none that counts.

    A service that has no such endpoint cannot say which rows changed, so the whole table is taken
    to have: the client falls back to table granularity instead of waiting for ever.
    """
    table, since = question.source.name, question.was or ""
    if status in _NOT_OFFERED:
        return TableChanges(table=table, since=since, version=question.now, complete=False)
    if status != _OK:
        return None
    try:
        answer = read_changes(body)
    except MalformedMessage:
        return None
    return answer if (answer.table, answer.since) == (table, since) else None


def body_limit() -> int:
    """Bytes of a response body that are looked at; a longer one passes through unread."""
    return 1 << 20
