"""A service that keeps one thing to itself: the same application, with some members left out.

What a client really consumes is found out by taking it away. Each `Channel` is one thing that the
contract says, as the source text's levels divide it (Table 1); `without` serves everything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.server import ASGIApp, Receive, Scope, Send

__all__ = ["CHANNELS", "Channel", "chosen", "without"]

Members = dict[str, Any]


def _untouched(members: Members) -> None:
    del members


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One thing that the contract says.

    Attributes:
        name: as the column of Table 2 has it, or a name of our own.
        says: what is left out, for people.
        headers: header names, in lower case, that go.
        strip: takes the members out of a JSON body, in place.
        paths: endpoints that are not offered at all.
    """

    name: str
    says: str
    headers: frozenset[bytes] = frozenset()
    strip: Callable[[Members], None] = _untouched
    paths: frozenset[str] = frozenset()


def _suggestions(members: Members) -> Iterable[Members]:
    feedback: Any = members.get("recovery_feedback")
    if isinstance(feedback, dict):
        yield from cast("Members", feedback).get("suggestions", ())


def _without_hint(members: Members) -> None:
    for suggestion in _suggestions(members):
        suggestion.pop("cache_hint", None)


def _without_stamps(members: Members) -> None:
    members.pop("table_versions", None)
    for suggestion in _suggestions(members):
        suggestion.pop("table", None)


def _without_vectors(members: Members) -> None:
    # What is left is the one table of Level 1, and the rows in it that the fix was read from.
    for suggestion in _suggestions(members):
        suggestion.pop("tables", None)
        rows: list[Members] = suggestion.get("rows", [])
        suggestion["rows"] = [row for row in rows if row["table"] == suggestion.get("table")]


def _without_rows(members: Members) -> None:
    for suggestion in _suggestions(members):
        suggestion.pop("rows", None)


def _without_graph(members: Members) -> None:
    if "downstream" in members:
        members["downstream"] = []


def _without_rules(members: Members) -> None:
    members.pop("rules_version", None)


CHANNELS: Final = (
    Channel(
        name="hint",
        says="`cache_hint`, the half of L1 that makes a fix something to remember",
        strip=_without_hint,
    ),
    Channel(
        name="L1",
        says="`table` and `table_versions`, the half of L1 that says what moved",
        headers=frozenset({b"contract-versions", b"contract", b"contract-moved"}),
        strip=_without_stamps,
    ),
    Channel(
        name="L4",
        says="`tables`, and rows outside the one table of L1",
        strip=_without_vectors,
    ),
    Channel(
        name="rows",
        says="`rows`, which the source text does not have: which rows a fix was read from",
        strip=_without_rows,
    ),
    Channel(
        name="L5",
        says="the graph endpoint, and what is downstream of a change",
        strip=_without_graph,
        paths=frozenset({"/contract/graph", "/admin/graph"}),
    ),
    Channel(
        name="L6",
        says="`rules_version`",
        headers=frozenset({b"contract-rules"}),
        strip=_without_rules,
    ),
    Channel(
        name="Diff",
        says="the changes endpoint",
        paths=frozenset({"/contract/changes"}),
    ),
)
"""What can be taken away from a service without touching the way that words are put."""

_GONE = 404


def chosen(names: Iterable[str]) -> tuple[Channel, ...]:
    """The channels of these names, in the order given.

    Raises:
        KeyError: there is none of one of the names.
    """
    known = {channel.name: channel for channel in CHANNELS}
    return tuple(known[name] for name in names)


def without(app: ASGIApp, channels: Sequence[Channel]) -> ASGIApp:
    """The application with channels left out, one after the other; with none, itself."""
    for channel in channels:
        app = _without(app, channel)
    return app


def _without(app: ASGIApp, channel: Channel) -> ASGIApp:
    async def omitting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") in channel.paths:
            head = [(b"content-length", b"0")]
            await send({"type": "http.response.start", "status": _GONE, "headers": head})
            await send({"type": "http.response.body", "body": b""})
            return
        # Told nothing of what the client holds, the service says everything in full.
        asked = [line for line in scope["headers"] if line[0] not in (b"contract-root", b"lapse")]
        start: dict[str, Any] = {}
        body = bytearray()

        async def held(message: Any) -> None:
            # The length of a body is known when all of it is: the start waits for the end.
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                said = _stripped(bytes(body), channel)
                await send({**start, "headers": _headers(start["headers"], channel, len(said))})
                await send({"type": "http.response.body", "body": said})

        await app({**scope, "headers": asked}, receive, held)

    return omitting


def _headers(
    lines: Iterable[tuple[bytes, bytes]], channel: Channel, length: int
) -> list[tuple[bytes, bytes]]:
    gone = channel.headers | {b"content-length"}
    kept = [(name, value) for name, value in lines if name.lower() not in gone]
    return [*kept, (b"content-length", str(length).encode())]


def _stripped(body: bytes, channel: Channel) -> bytes:
    if not body:
        return body
    members: Any = json.loads(body)  # every answer of a world is one JSON object
    channel.strip(members)
    return json.dumps(members, separators=(",", ":")).encode()
