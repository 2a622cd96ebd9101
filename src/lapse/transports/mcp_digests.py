"""The client's half of the digest envelope in MCP: what stands in `_meta`, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from lapse.transports.digests import UNREAD
from lapse.wire.digests import have_member, read_digest_member
from lapse.wire.mcp import KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.ledger import JsonObject
    from lapse.runtime import Memory, Sent
    from lapse.runtime.signatures import Stamp
    from lapse.wire.mcp import ToolReading

__all__ = ["announced", "whole_reading"]


def announced(options: Mapping[str, Any], sent: Sent | None) -> dict[str, Any]:
    """The options of a call, with what is held in its `_meta`; as they were when nothing is."""
    if sent is None:
        return dict(options)
    meta = cast("dict[str, Any]", options.get("meta") or {})
    return {**options, "meta": {**meta, KEY: have_member(sent.have)}}


def whole_reading(
    memory: Memory,
    issuer: str,
    sent: Sent | None,
    result: Mapping[str, Any],
    reading: ToolReading,
    stamp: Stamp,
    arguments: JsonObject | None = None,
) -> tuple[ToolReading, Stamp]:
    """A tool result as it would be with the whole map.

    Args:
        memory: what is remembered.
        issuer: whose tool it is.
        sent: what the call said that is held; None: nothing.
        result: the result as it stands on the wire.
        reading: what it was read as.
        stamp: its signed statement.
        arguments: what the tool was called with.
    """
    meta = result.get("_meta")
    ours = cast("dict[str, object]", meta).get(KEY) if isinstance(meta, dict) else None
    said = read_digest_member(ours)
    has_map = isinstance(ours, dict) and "table_versions" in ours
    if said is None and not has_map:  # a map elsewhere may be that of one suggestion
        return reading, stamp
    heard = memory.digests.heard(issuer, sent, reading.envelope, said, stamp, arguments)
    if heard.refused is not None:
        memory.refused(issuer, heard.refused, "_meta")
    elif heard.short:
        memory.count("digests")
    if heard.unread:
        memory.refused(issuer, UNREAD, "recovery_feedback.suggestions")
    return replace(reading, envelope=heard.envelope), heard.stamp
