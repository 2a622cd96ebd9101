"""What an agent behind the proxy gets to see of the fixes that hold; no I/O.

Three places, all of which the server's own words reach anyway: the description of a tool, which the
model reads before its first attempt; the answer of a small tool of the proxy's own; and the text of
an error that did not say itself what would pass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract import Consumption, word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = [
    "KNOWN_FIXES",
    "SHOWN",
    "asked_about",
    "described",
    "known_fixes_tool",
    "tools_of",
    "with_words",
    "worded",
]

KNOWN_FIXES: Final = "lapse_known_fixes"
"""The tool that the proxy adds; a tool of the server with this name stays the server's."""

SHOWN: Final = 8
"""Fixes that a description lists, the newest ones: a few hundred tokens at most."""
_LONGEST: Final = 500
"""Characters of one fix in a description; a longer one is left to the tool."""

_HEAD: Final = "Known fixes, still valid. Where the arguments match, merge the parameters verbatim:"
_NONE: Final = "No fix is known for this call."


def known_fixes_tool() -> dict[str, Any]:
    """The description of the proxy's own tool, as `tools/list` has it."""
    return {
        "name": KNOWN_FIXES,
        "description": (
            "Fixes learned from earlier errors of a tool that still hold for a call you are about "
            "to make. Reads only."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool": {"type": "string", "description": "The tool you are about to call."},
                "arguments": {"type": "object", "description": "The arguments you mean to use."},
            },
            "required": ["tool", "arguments"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def asked_about(arguments: object) -> tuple[str, JsonObject] | None:
    """The tool and the arguments that a call of the proxy's own tool asks about."""
    asked = cast("dict[str, object]", arguments) if isinstance(arguments, dict) else {}
    tool, about = asked.get("tool"), asked.get("arguments")
    if not isinstance(tool, str) or not isinstance(about, dict):
        return None
    return tool, cast("dict[str, Any]", about)


def worded(fixes: Sequence[Fix]) -> str:
    """The fixes as patches for the model, or that there are none."""
    return word(fixes, level=Consumption.PATCH) or _NONE


def with_words(result: Mapping[str, Any], fixes: Sequence[Fix]) -> dict[str, Any]:
    """An error result with the fixes as one more text block."""
    content = result.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return {**result, "content": [*blocks, {"type": "text", "text": worded(fixes)}]}


def tools_of(listing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tools of a `tools/list` result that have a name."""
    found = listing.get("tools")
    tools = cast("list[object]", found) if isinstance(found, list) else []
    objects = [cast("dict[str, Any]", tool) for tool in tools if isinstance(tool, dict)]
    return [tool for tool in objects if isinstance(tool.get("name"), str)]


def described(tool: Mapping[str, Any], fixes: Sequence[Fix]) -> dict[str, Any]:
    """A tool with the fixes that hold in its description.

    A fix for one exact request is not among them: only its digest is known, so a reader could not
    tell when it applies.
    """
    lines = [line for fix in fixes[-SHOWN:] if fix.when is not None and (line := _line(fix))]
    if not lines:
        return dict(tool)
    said = tool.get("description")
    parts = [said] if isinstance(said, str) and said else []
    return {**tool, "description": "\n".join([*parts, "", _HEAD, *lines])}


def _line(fix: Fix) -> str | None:
    kind = _json(fix.type)[1:-1]
    line = f"- {kind}: when {_json(fix.when)} merge {_json(fix.parameters)}"
    return line if len(line) <= _LONGEST else None


def _json(value: object) -> str:
    # ASCII only, and no angle brackets: a value cannot fake markup around the description.
    text = json.dumps(value, ensure_ascii=True, sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
