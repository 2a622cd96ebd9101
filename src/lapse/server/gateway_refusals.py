"""Adds to an upstream's refusal what the document determines of a cure; the rest of it survives.

The upstream's JSON stays as it was written, byte for byte: the members are put in before its last
brace. A refusal that is no JSON object, or that has such members already, is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2

from lapse.contract import CacheHint, Suggestion, leaks
from lapse.server.gateway_faults import Cure, Fault, faults
from lapse.server.gateway_sent import object_of
from lapse.wire import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.contract import Reading
    from lapse.server.contract import Contract
    from lapse.server.gateway_routes import Match, RowIndex
    from lapse.server.gateway_sent import Sent

__all__ = ["Mended", "decoded", "mended"]

_MOST: Final = 48
"""Suggestions in one refusal; clients may stop reading at 64."""

_CONTRACT: Final = frozenset({"recovery_feedback", "table_versions", "rules_version"})
_DIGESTS: Final = frozenset(
    {
        b"content-digest",
        b"content-encoding",
        b"content-length",
        b"content-md5",
        b"digest",
        b"etag",
        b"repr-digest",
        b"signature",
        b"signature-input",
    }
)
"""They speak of the body as it was."""

_TITLE: Final = "The request does not satisfy the document of the service"
_DETAIL: Final = "Members of the request do not satisfy what its operation demands of them."


@dataclass(frozen=True, slots=True)
class Mended:
    """What became of a refusal.

    Attributes:
        found: the faults that could be seen in the request.
        suggested: how many suggestions were added.
        lines: the header lines of the answer.
        body: its body; None: the refusal goes on as it is.
    """

    found: tuple[Fault, ...] = ()
    suggested: int = 0
    lines: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes | None = None


def mended(
    contract: Contract,
    rows: RowIndex,
    match: Match,
    sent: Sent,
    *,
    status: int,
    lines: Sequence[tuple[bytes, bytes]],
    body: bytes | None,
) -> Mended:
    """A refusal with what can be said about it.

    Args:
        contract: the gateway's.
        rows: finds the operation's rows.
        match: the operation that was asked for.
        sent: the request.
        status: the upstream's.
        lines: its header lines.
        body: its body without content codings; None when it could not be read.
    """
    with contract.reading() as tables:
        demands = rows.demands(match.operation, tables.registry)
        found = () if demands is None else tuple(faults(demands, sent))
        suggestions = tuple(_suggestions(tables, match, found))
    registry = tables.registry
    if not suggestions or body is None:
        return Mended(found)
    upstream = object_of(body) if body.strip() else {}
    if upstream is None or _CONTRACT & upstream.keys():
        return Mended(found)
    members = contract.failure_members(registry, suggestions)
    detail = {} if any(leaks(_DETAIL, s.parameters) for s in suggestions) else {"detail": _DETAIL}
    problem = {
        "type": contract.problem_type("request-does-not-fit"),
        "title": _TITLE,
        "status": status,
        **detail,
    }
    added = {n: v for n, v in {**problem, **members}.items() if n not in upstream}
    kept = [line for line in lines if line[0].lower() not in _DIGESTS]
    names = {name.lower() for name, _ in kept}
    if b"content-type" not in names:
        kept.append((b"content-type", b"application/problem+json"))
    if b"cache-control" not in names:
        kept.append((b"cache-control", b"no-store"))
    return Mended(found, len(suggestions), tuple(kept), _with_members(body, upstream, added))


def _with_members(body: bytes, upstream: dict[str, Any], added: dict[str, Any]) -> bytes:
    said = write(added)
    if not body.strip():
        return said
    before = body.rstrip()[:-1]
    return before + (b"," if upstream else b"") + said[1:]


def _suggestions(tables: Reading, match: Match, found: Iterable[Fault]) -> Iterable[Suggestion]:
    cures = [fault.cure for fault in found if isinstance(fault.cure, Cure)]
    return (_suggestion(tables, match, cure) for cure in cures[:_MOST])


def _suggestion(tables: Reading, match: Match, cure: Cure) -> Suggestion:
    if cure.hint is CacheHint.RECOMPUTE:
        more = {} if cure.place is None else {"in": cure.place}
        return Suggestion(
            type=cure.action, parameters=cure.parameters, cache_hint=cure.hint, more=more
        )
    tables.forget()
    for key in cure.rests_on:
        tables[match.operation.table].get(f"{match.operation.name}#{key}")
    return tables.suggest(cure.action, cure.parameters, when=cure.when)


def decoded(lines: Sequence[tuple[bytes, bytes]], raw: bytes, limit: int) -> bytes | None:
    """A body with its content codings undone; None when that fails or passes the limit."""
    coding = [(name, value) for name, value in lines if name.lower() == b"content-encoding"]
    if not coding:
        return raw
    body = bytearray()
    whole = httpx2.Response(200, headers=coding, stream=httpx2.ByteStream(raw))
    try:
        for chunk in whole.iter_bytes(64 * 1024):
            body += chunk
            if len(body) > limit:
                return None
    except httpx2.DecodingError:
        return None
    return bytes(body)
