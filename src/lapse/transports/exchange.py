"""What an HTTP exchange means for a memory; no I/O, shared by both transports."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import parse_qsl, urlencode

from lapse.contract import Envelope, Lesson, TableChanges
from lapse.errors import MalformedMessage
from lapse.transports.digests import READ, heard_of, succeeded
from lapse.wire import (
    LOCATION,
    RULES,
    STAMP,
    VERSIONS,
    read_changes,
    read_http_stamp,
    read_response,
)
from lapse.wire.digests import DIGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    import httpx2

    from lapse.contract import Moved
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse.runtime.signatures import Stamp

__all__ = [
    "BODY_LIMIT",
    "FORWARDED",
    "REFUSED",
    "UNAUTHENTICATED",
    "Asked",
    "Naming",
    "Steps",
    "answer_of",
    "asked_of",
    "carries_json",
    "carries_mirrors",
    "next_question",
    "question_url",
    "steps_of",
    "unread",
]

BODY_LIMIT = 1 << 20
"""Bytes of a response body that are looked at; a longer one passes through unread."""

CONTRACT_LOCATION = "/contract"
"""Where the contract endpoints are when a service does not announce a place."""

FORWARDED = ("authorization", "cookie", "user-agent")
"""Request headers that go along when the same origin is asked what changed."""

_NOT_OFFERED = frozenset({403, 404, 405, 410, 501})
"""Answers that say there is no such endpoint, or not for this client (asking again would not help,
RFC 9110, 15.5.4), as against one that cannot be reached now."""

UNAUTHENTICATED = 401
"""An answer that asks for credentials: with them, the next question may well be answered."""

_OK = 200
_REDIRECTS = 300

REFUSED = frozenset(range(400, 500)) - {401, 407, 408, 421, 425, 426, 429, 431}
"""Statuses that may be about what the request says (RFC 9110, 15.5). The ones left out are about
who asks, when, how often, and over what connection."""

_FORM = "application/x-www-form-urlencoded"

Naming: TypeAlias = "Callable[[httpx2.Request], str]"
"""From a request to a name: of its issuer or of its operation."""

Steps: TypeAlias = "Generator[Moved, TableChanges | None, None]"
"""Takes a response in; yields what moved, and is sent what the service says changed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request's side of an exchange.

    Attributes:
        issuer: whose fixes it is about.
        operation: what was asked for.
        request: the request as it was sent.
        applied: the ids of the fixes that the transport merged into it.
        status: the response's status; 0 before there is one.
    """

    issuer: str
    operation: str
    request: httpx2.Request
    applied: tuple[str, ...] = ()
    status: int = 0

    @property
    def members(self) -> JsonObject | None:
        """The request's members: a JSON object's, else a form's, else the query's.

        None if they cannot be read. A body that is still a stream is left alone: reading it would
        take it from the wrapped transport.
        """
        request = self.request
        content = cast("bytes | None", getattr(request, "_content", None))
        if content is None:
            return None
        if not content:
            return dict(request.url.params)
        kind = _media_type(request.headers)
        if _is_json(kind):
            return _object_of(content)
        if kind == _FORM:
            return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))
        return None


def asked_of(request: httpx2.Request, issuer: str | None, operation: Naming | None) -> Asked:
    """What is asked of whom.

    The issuer is the origin unless the user names one; the operation is method and path unless the
    user maps them (a path with an id in it is another operation for every id).
    """
    url = request.url
    origin = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    named = f"{request.method} {url.path}" if operation is None else operation(request)
    return Asked(origin if issuer is None else issuer, named, request)


def _object_of(content: bytes) -> JsonObject | None:
    try:
        value: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_json(kind: str) -> bool:
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def carries_json(response: httpx2.Response) -> bool:
    """Whether the response's body may hold contract members."""
    return _is_json(_media_type(response.headers))


def carries_mirrors(response: httpx2.Response) -> bool:
    """Whether the response's headers hold contract members."""
    return any(name in response.headers for name in (VERSIONS, RULES, LOCATION, STAMP, DIGEST))


def steps_of(
    memory: Memory, asked: Asked, headers: Sequence[tuple[bytes, bytes]], body: bytes | None
) -> tuple[Envelope, Steps | None]:
    """The contract members of a response, and the steps to take it in; None: nothing new in it."""
    reading = read_response(headers, body)
    for refusal in reading.refusals:
        memory.refused(asked.issuer, refusal.reason, refusal.where)
    stamp = read_http_stamp(headers)
    said, request = reading.envelope, asked.request
    members = asked.members if said.suggestions else None
    heard = heard_of(memory, asked.issuer, request, members, headers, said, stamp)
    envelope = heard.envelope
    if heard.short and envelope.success is None:
        envelope = replace(envelope, success=succeeded(asked.status))
    request.extensions[READ] = envelope
    return envelope, _steps(memory, asked, envelope, heard.stamp)


def unread(asked: Asked) -> Asked:
    """The exchange when its body was not read: a success may say there that it is none."""
    return replace(asked, status=0) if _OK <= asked.status < _REDIRECTS else asked


def _steps(memory: Memory, asked: Asked, envelope: Envelope, stamp: Stamp) -> Steps | None:
    if not memory.guard.judges(asked.issuer, envelope, stamp):
        return _taken(memory, asked, memory.guard.plain(asked.issuer, asked.operation, envelope))
    # Judging may have to reach a disk: that is for the thread that takes the first step.
    return _judged(memory, asked, envelope, stamp)


def _judged(memory: Memory, asked: Asked, envelope: Envelope, stamp: Stamp) -> Steps:
    believed = memory.guard.believed(asked.issuer, asked.operation, envelope, stamp)
    steps = None if believed is None else _taken(memory, asked, believed)
    if steps is not None:
        yield from steps


def _taken(memory: Memory, asked: Asked, envelope: Envelope) -> Steps | None:
    if not (envelope.suggestions or asked.applied):
        if envelope.table_versions is None and envelope.rules_version is None:
            return None
        if memory.unchanged(asked.issuer, envelope.table_versions, envelope.rules_version):
            memory.count("unchanged")
            return None
    lesson = Lesson(
        issuer=asked.issuer,
        operation=asked.operation,
        request=asked.members if envelope.suggestions else None,
        envelope=envelope,
        at=memory.now,
        applied=asked.applied,
        accepted=_accepted(asked.status, envelope.success),
    )
    return memory.receive(lesson)


def _accepted(status: int, success: bool | None) -> bool | None:  # noqa: FBT001 - as it was said
    """Whether the service took the request; None when it failed for another reason than that."""
    if status in REFUSED:
        return False
    if _OK <= status < _REDIRECTS:
        return success is not False
    return None


def next_question(steps: Steps, answer: TableChanges | None) -> Moved | None:
    """Send the service's answer, or None to begin; what is to be asked next, if anything."""
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def question_url(asked: Asked, envelope: Envelope, question: Moved) -> httpx2.URL | None:
    """Where to ask what changed; None when the announced place is not on the origin that answered.

    A service that could name another place could make every client call it.
    """
    here = asked.request.url
    try:
        base = here.join(envelope.location or CONTRACT_LOCATION)
    except Exception:  # noqa: BLE001 - httpx2's InvalidURL or httpx's: the same refusal
        return None
    if (base.scheme, base.host, base.port) != (here.scheme, here.host, here.port):
        return None
    path = base.raw_path.partition(b"?")[0].rstrip(b"/")
    query = urlencode({"table": question.source.name, "since": question.was or ""})
    return here.copy_with(
        raw_path=b"%s/changes?%s" % (path, query.encode()), userinfo=b"", fragment=None
    )


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
