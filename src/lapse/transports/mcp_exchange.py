"""What an MCP tool call means for a memory; needs no SDK.

`take_in` drives a memory with one tool result. It asks its questions through a `Reader`, whatever
carries it: a client session, or a proxy that speaks for one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from lapse.contract import Lesson, TableChanges
from lapse.errors import InvalidValue, MalformedMessage
from lapse.ledger import encode
from lapse.transports.mcp_digests import whole_reading
from lapse.transports.waiting import off_loop_async
from lapse.wire import read_changes, read_object_stamp, read_response
from lapse.wire.mcp import KEY, VERSIONS, ToolReading, changes_uri, read_tool_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from lapse.contract import Envelope, Moved
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory, Sent
    from lapse.runtime.signatures import Stamp

    Reader = Callable[[str], Awaitable[bytes]]
    """Reads a resource of the server. It raises `NotOffered` when there is none of this URI, and
    anything else when the server cannot be asked now."""

__all__ = ["Called", "NotOffered", "issuer_of_command", "issuer_of_url", "refresh", "take_in"]

_OK: Final = 200
_NOT_FOUND: Final = 404
"""How an answer, and the lack of one, are called where both carriers are judged alike."""

_DIGITS = 16
"""Hexadecimal digits of a command's digest: 64 bits tell the servers of one machine apart."""

T = TypeVar("T")


class NotOffered(Exception):
    """The server has no such resource, as against one that cannot be asked now."""


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call, as it was sent.

    Attributes:
        issuer: whose tool it is.
        tool: its name, which is the operation that fixes are kept under.
        arguments: what it was called with, which is the request that fixes are kept for.
        applied: the ids of the fixes that were merged into the arguments.
        sent: what the call said of the versions that are held; None: nothing.
    """

    issuer: str
    tool: str
    arguments: JsonObject
    applied: tuple[str, ...] = ()
    sent: Sent | None = None


def issuer_of_url(url: str) -> str:
    """The issuer behind an endpoint: its address without credentials, query and fragment.

    Raises:
        InvalidValue: it is no absolute HTTP address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise InvalidValue("url", url, "pass an address such as https://host.example/mcp")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def issuer_of_command(command: Sequence[str]) -> str:
    """The issuer behind a command line: the program's name and a digest of all its words.

    A digest, because command lines hold secrets and an issuer is written into the ledger. What a
    server says of itself is not used: any server could give another's name.

    Raises:
        InvalidValue: there is no command.
    """
    if not command:
        raise InvalidValue("command", command, "pass the words that start the server")
    digest = sha256(encode(list(command))).hexdigest()[:_DIGITS]
    return f"stdio:{PurePath(command[0]).name}-{digest}"


async def take_in(
    memory: Memory, called: Called, result: Mapping[str, Any], read: Reader
) -> ToolReading:
    """Take a tool result in; whatever goes wrong is told to the memory's observers, never raised.

    Args:
        memory: what is remembered.
        called: the call that the result answers.
        result: the result as it stands on the wire.
        read: reads a resource of the same server.
    """
    reading = read_tool_result(result)
    for refusal in reading.refusals:
        memory.refused(called.issuer, refusal.reason)
    try:
        stamp = read_object_stamp(_member(_member(result.get("_meta"), KEY), "stamp"))
        reading, stamp = whole_reading(
            memory, called.issuer, called.sent, result, reading, stamp, called.arguments
        )
        # A tool that fails says no more than that, and a fix that is merged again and again into
        # calls that fail would leave the agent no way out: any error speaks against it.
        accepted = result.get("isError") is not True
        await _receive(memory, called, reading, stamp, read, accepted=accepted)
    except Exception as failure:  # noqa: BLE001 - the call stands, whatever happens here
        memory.failed(called.issuer, failure)
    return reading


async def refresh(memory: Memory, issuer: str, read: Reader) -> bool:
    """Ask for the versions now and reconcile; False when the server did not say them.

    For the moment before a fix is used: it closes the gap between a reload and the next result.
    """
    try:
        body = await read(VERSIONS)
        envelope = read_response((), body).envelope
        if envelope.table_versions is None:
            return False
        stamp = read_object_stamp(_member(_object(body), "stamp"))
        reading = ToolReading(memory.digests.heard(issuer, None, envelope, None, stamp).envelope)
        await _receive(memory, Called(issuer, VERSIONS, {}), reading, stamp, read)
    except NotOffered:
        return False
    except Exception as failure:  # noqa: BLE001 - what is remembered stands as it was
        memory.failed(issuer, failure)
        return False
    return True


async def _receive(
    memory: Memory,
    called: Called,
    reading: ToolReading,
    stamp: Stamp,
    read: Reader,
    *,
    accepted: bool | None = None,
) -> None:
    guard, said = memory.guard, reading.envelope
    if guard.judges(called.issuer, said, stamp):
        # It may have to reach a disk, which is not for an event loop.
        envelope = await off_loop_async(
            lambda: guard.believed(called.issuer, called.tool, said, stamp)
        )
    else:
        envelope = guard.plain(called.issuer, called.tool, said)
    if envelope is None:
        return
    teaches = envelope.suggestions or called.applied
    if not teaches and _says_nothing_new(memory, called.issuer, envelope):
        return
    lesson = Lesson(
        issuer=called.issuer,
        operation=called.tool,
        request=called.arguments,
        envelope=envelope,
        at=memory.now,
        applied=called.applied,
        accepted=accepted,
    )
    steps = memory.receive(lesson)
    question = await off_loop_async(lambda: _step(steps, None))
    while question is not None:
        memory.count("questions")
        answer = await _ask(memory, called.issuer, question, reading, read)
        question = await off_loop_async(lambda answer=answer: _step(steps, answer))


def _object(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _member(value: object, name: str) -> object:
    return cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None


def _says_nothing_new(memory: Memory, issuer: str, envelope: Envelope) -> bool:
    versions, rules = envelope.table_versions, envelope.rules_version
    if versions is None and rules is None:
        return True
    if memory.unchanged(issuer, versions, rules):
        memory.count("unchanged")
        return True
    return False


def _step(
    steps: Generator[Moved, TableChanges | None, None], answer: TableChanges | None
) -> Moved | None:
    try:
        return steps.send(answer)
    except StopIteration:
        return None


async def _ask(
    memory: Memory, issuer: str, question: Moved, reading: ToolReading, read: Reader
) -> TableChanges | None:
    table, since = question.source.name, question.was or ""
    try:
        body = await read(changes_uri(table, since))
        if not memory.guard.vouches(issuer, question, _OK, body):
            return None
        answer = read_changes(body)
    except NotOffered:
        # Nobody but the text vouches for it, or nobody signs that there is no such resource.
        if reading.hearsay or not memory.guard.vouches(issuer, question, _NOT_FOUND, b""):
            return None
        # As over HTTP: who cannot say which rows changed is taken to have changed the whole table.
        return TableChanges(table=table, since=since, version=question.now, complete=False)
    except MalformedMessage:
        memory.refused(issuer, "malformed_changes")
        return None
    except Exception as failure:  # noqa: BLE001 - it cannot be asked now: stay in abeyance
        memory.failed(issuer, failure)
        return None
    return answer if (answer.table, answer.since) == (table, since) else None
