"""Counts what one exchange holds of the contract, member by member and line by line.

As the source text counts (section 3.7): the bytes of a member are what its body is longer by, in
compact JSON, and the share is taken of all bytes of the payload. Its figures are of bodies alone.
Here the header lines of the contract are payload, too: a mirror is no cheaper than a member.
`success`, `recovery_feedback`, `type` and `parameters` are not counted, as they are not there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import httpx2

__all__ = ["Recording", "Sized", "sized"]

_ENVELOPE: Final = ("table_versions", "rules_version")
_OF_A_FIX: Final = ("cache_hint", "table", "tables", "rows", "when", "on", "r")
_LINE: Final = len(": \r\n")


@dataclass(frozen=True, slots=True)
class Sized:
    """The bytes of one exchange.

    Attributes:
        status: the response's.
        body: the whole body.
        envelope: of that, members that say versions.
        fixes: of that, members that say what a fix rests on.
        lines: the contract's header lines, with their ends.
        head: the status line and all other header lines.
        request: the contract's header lines of the request.
        request_rest: the rest of the request, head and body.
    """

    status: int
    body: int
    envelope: int
    fixes: int
    lines: int
    head: int
    request: int
    request_rest: int

    @property
    def contract(self) -> int:
        """All bytes of the contract in the response."""
        return self.envelope + self.fixes + self.lines

    @property
    def payload(self) -> int:
        """The body and the contract's header lines."""
        return self.body + self.lines

    @property
    def message(self) -> int:
        """The whole response."""
        return self.payload + self.head


def sized(
    request: httpx2.Request, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes
) -> Sized:
    """Count one exchange, as HTTP/1.1 sends it."""
    without, bare = _without(body)
    ours = sum(_length(line) for line in headers if _is_ours(line))
    others = sum(_length(line) for line in headers if not _is_ours(line))
    said = sum(_length(line) for line in request.headers.raw if _is_ours(line))
    asked = sum(_length(line) for line in request.headers.raw if not _is_ours(line))
    first = len(request.method) + len(request.url.raw_path) + len("  HTTP/1.1\r\n")
    return Sized(
        status=status,
        body=len(body),
        envelope=len(body) - len(without),
        fixes=len(without) - len(bare),
        lines=ours,
        head=others + len("HTTP/1.1 200 OK\r\n\r\n"),
        request=said,
        request_rest=asked + first + 2 + len(request.content),
    )


def _length(line: tuple[bytes, bytes]) -> int:
    return len(line[0]) + len(line[1]) + _LINE


def _is_ours(line: tuple[bytes, bytes]) -> bool:
    name = line[0].lower()
    return name.startswith((b"contract-", b"lapse")) or (name == b"vary" and line[1] == b"Lapse")


def _without(body: bytes) -> tuple[bytes, bytes]:
    """A body without versions, and without what fixes rest on as well."""
    try:
        value: Any = json.loads(body)
    except ValueError:
        return body, body
    members = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if not members or _json(members) != body:
        return body, body  # a body that is not written compactly cannot be counted like this
    for name in _ENVELOPE:
        members.pop(name, None)
    without = _json(members)
    for fix in members.get("recovery_feedback", {}).get("suggestions", []):
        for name in _OF_A_FIX:
            fix.pop(name, None)
    return without, _json(members)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Recording(httpx2.BaseTransport):
    """Counts every exchange that goes through it, questions about changes apart.

    Attributes:
        calls: the calls of the planner's operations, in order.
        questions: all others.
    """

    def __init__(self, wrapped: httpx2.BaseTransport) -> None:
        self._wrapped = wrapped
        self.calls: list[Sized] = []
        self.questions: list[Sized] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request on, and count what comes back."""
        response = self._wrapped.handle_request(request)
        body = response.read()
        counted = sized(request, response.status_code, response.headers.raw, body)
        (self.calls if request.method == "POST" else self.questions).append(counted)
        return response

    def close(self) -> None:
        """Close the wrapped transport."""
        self._wrapped.close()
