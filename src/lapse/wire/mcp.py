"""How the contract rides on MCP: three channels of a tool result, and resources.

An error that the contract made says everything three times, because hosts lose channels: in its
first text block, in `structuredContent`, and, as stamps, in `_meta`. A success keeps its content
and `structuredContent` as they are and says the stamps in `_meta` alone.

Reading is tolerant and never raises. It is also suspicious: what a tool returns may be a stranger's
text, so a success is read by its `_meta` only, and the text of an error only where no better
channel speaks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, unquote

from lapse.contract import Envelope, Level
from lapse.wire.limits import DEFAULT_LIMITS, Limits, Reason, Refusal
from lapse.wire.parsing import write
from lapse.wire.reading import read_response
from lapse.wire.writing import Problem, problem_members, suggestion_members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.contract import Suggestion

__all__ = [
    "CHANGES_TEMPLATE",
    "GRAPH",
    "KEY",
    "TABLE_TEMPLATE",
    "VERSIONS",
    "ToolReading",
    "changes_uri",
    "error_members",
    "error_text",
    "parse_uri",
    "read_tool_result",
    "stamps",
    "table_uri",
]

KEY: Final = "dev.lapse/invalidation-contract"
"""The `_meta` key and the extension's identifier.

Prefixes with `mcp` or `modelcontextprotocol` as second label are reserved, and a bare `cache_hint`
in `_meta` is being claimed for prompt caching.
"""

_SCHEME: Final = "contract://"
VERSIONS: Final = "contract://versions"
"""All versions: what `GET {location}/versions` answers."""
GRAPH: Final = "contract://graph"
"""The knowledge graph, from Level 5."""
TABLE_TEMPLATE: Final = "contract://tables/{table}"
CHANGES_TEMPLATE: Final = "contract://changes/{table}/{since}"
"""What changed since a version: what `GET {location}/changes` answers."""

_STAMPS = ("table_versions", "rules_version")
_STAMPED = frozenset({"cache_hint", "table", "tables", "rows", "when"})
_FEEDBACK = ("success", "recovery_feedback", *_STAMPS)
_BLOCKS = 32
"""Text blocks of one error that are searched; the contract's own is the first."""


def table_uri(table: str) -> str:
    """The resource that stands for a table."""
    return f"{_SCHEME}tables/{quote(table, safe='')}"


def changes_uri(table: str, since: str) -> str:
    """The resource that says what changed in a table since a version."""
    return f"{_SCHEME}changes/{quote(table, safe='')}/{quote(since, safe='')}"


def parse_uri(uri: str) -> tuple[str, ...] | None:
    """The parts of a contract URI, decoded; None when it is another scheme's."""
    if not uri.startswith(_SCHEME):
        return None
    return tuple(unquote(part) for part in uri.removeprefix(_SCHEME).split("/"))


def stamps(level: Level, envelope: Envelope) -> dict[str, Any]:
    """The value under `KEY` in a result's `_meta`.

    `success` is there on the contract's own errors, false, and nowhere else: it tells them from a
    tool's other errors, whose text may be anybody's.
    """
    value: dict[str, Any] = {"level": int(level)}
    if envelope.success is False:
        value["success"] = False
    if envelope.table_versions is not None:
        value["table_versions"] = dict(envelope.table_versions)
    if envelope.rules_version is not None:
        value["rules_version"] = envelope.rules_version
    return value


def error_members(problem: Problem, envelope: Envelope) -> dict[str, Any]:
    """An error's `structuredContent`: the problem document that HTTP sends (C-PRB-01)."""
    return problem_members(problem, envelope)


def error_text(problem: Problem, envelope: Envelope, *, unstamped: bool = False) -> str:
    """An error's first text block: a sentence, then on a line of its own what would pass.

    Versions are repeated only for the tables that a suggestion names and gives no version of.

    Args:
        problem: what went wrong.
        envelope: the suggestions, and the versions of the tables behind them.
        unstamped: whether what a suggestion rests on is left out: the client reads it elsewhere.
    """
    sentence = " ".join(f"{problem.title}. {problem.detail}".split())
    if not envelope.suggestions:
        return sentence
    said = [suggestion_members(s) for s in envelope.suggestions]
    if unstamped:
        fixes = [{n: v for n, v in s.items() if n not in _STAMPED} for s in said]
        return f"{sentence}\n{write({'recovery_feedback': {'suggestions': fixes}}).decode()}"
    feedback: dict[str, Any] = {"recovery_feedback": {"suggestions": said}}
    known = envelope.table_versions or {}
    bare = {t: known[t] for s in envelope.suggestions for t in _unversioned(s) if t in known}
    if bare:
        feedback["table_versions"] = bare
    return f"{sentence}\n{write(feedback).decode()}"


def _unversioned(suggestion: Suggestion) -> set[str]:
    named = {row.table for row in suggestion.rows}
    if suggestion.table is not None:
        named.add(suggestion.table)
    return named - {entry.table for entry in suggestion.tables}


@dataclass(frozen=True, slots=True)
class ToolReading:
    """What a tool result says.

    Attributes:
        envelope: the contract members that could be read; empty at Level 0.
        refusals: what was left out, and why.
        hearsay: the suggestions stand in text alone, under no stamps of the server's: they count
            only if the server itself confirms what they rest on.
        told: whether the result's text says the suggestions, so that a host which shows nothing
            else has them.
    """

    envelope: Envelope
    refusals: tuple[Refusal, ...] = ()
    hearsay: bool = False
    told: bool = False


def read_tool_result(result: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> ToolReading:
    """The contract members of a tool result. Never raises, whatever it holds.

    Args:
        result: the result as it stands on the wire: `content`, `structuredContent`, `isError`,
            `_meta`.
        limits: how much is taken in.
    """
    refusals: list[Refusal] = []
    ours = _object(_object(result.get("_meta")).get(KEY))
    said = _read(ours, _STAMPS, "_meta", limits, refusals)
    if result.get("isError") is not True:
        return ToolReading(said, tuple(refusals))
    structured = _object(result.get("structuredContent"))
    whole = _read(structured, _FEEDBACK, "structuredContent", limits, refusals)
    text = Envelope()
    # Under stamps of its own, an error that is not the contract's is the tool's to word.
    if not ours or ours.get("success") is False:
        text = _read_text(result.get("content"), limits, refusals)
    envelope = _merged(said, whole, text, refusals)
    return ToolReading(
        envelope,
        tuple(refusals),
        hearsay=not ours and not whole.suggestions and bool(text.suggestions),
        told=_tells(text, envelope),
    )


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _merged(said: Envelope, whole: Envelope, text: Envelope, refusals: list[Refusal]) -> Envelope:
    for name in _STAMPS:
        first, second = getattr(said, name), getattr(whole, name)
        if None not in (first, second) and first != second:
            refusals.append(Refusal(Reason.DISAGREES, f"structuredContent.{name}"))
    versions = (said.table_versions, whole.table_versions, text.table_versions)
    rules = (said.rules_version, whole.rules_version, text.rules_version)
    return Envelope(
        success=whole.success,
        suggestions=whole.suggestions or text.suggestions,
        table_versions=next((v for v in versions if v is not None), None),
        rules_version=next((v for v in rules if v is not None), None),
    )


def _tells(text: Envelope, envelope: Envelope) -> bool:
    shown = [(s.type, s.parameters) for s in text.suggestions]
    return all((s.type, s.parameters) in shown for s in envelope.suggestions)


def _read(
    members: dict[str, Any],
    wanted: tuple[str, ...],
    where: str,
    limits: Limits,
    refusals: list[Refusal],
) -> Envelope:
    ours = {name: members[name] for name in wanted if members.get(name) is not None}
    if not ours:
        return Envelope()
    try:
        # Through bytes: one reader judges every carrier, whatever a library made of the JSON.
        body = json.dumps(ours).encode()
    except (TypeError, ValueError):
        refusals.append(Refusal(Reason.WRONG_TYPE, where))
        return Envelope()
    except RecursionError:
        refusals.append(Refusal(Reason.TOO_DEEP, where))
        return Envelope()
    return _read_body(body, where, limits, refusals)


def _read_body(body: bytes, where: str, limits: Limits, refusals: list[Refusal]) -> Envelope:
    reading = read_response((), body, limits=limits)
    refusals += [replace(r, where=f"{where}.{r.where}") for r in reading.refusals]
    return reading.envelope


def _read_text(content: object, limits: Limits, refusals: list[Refusal]) -> Envelope:
    blocks = cast("list[object]", content)[:_BLOCKS] if isinstance(content, list) else []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if '"recovery_feedback"' in text:
                for candidate in _candidates(text):
                    heard: list[Refusal] = []
                    envelope = _read_body(candidate, "content", limits, heard)
                    if envelope.suggestions:
                        refusals += heard
                        return envelope
            case _:
                continue
    return Envelope()


def _candidates(text: str) -> Iterator[bytes]:
    """Where the JSON may stand: on the last line that is an object, or between the outer braces."""
    for line in reversed(text.split("\n")):
        bare = line.strip()
        if bare.startswith("{") and bare.endswith("}"):
            yield bare.encode(errors="surrogatepass")
            break
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        yield text[start : end + 1].encode(errors="surrogatepass")
