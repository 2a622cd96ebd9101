"""The HTTP headers that a relayed message needs; other carriers ignore them.

A client session would set them from what it knows. A relay reads them off the message: revision
2026-07-28 says everything in each request, and before it the version was agreed on once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["envelope_of", "headers_for", "is_modern"]

_ENVELOPE = (PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY)


def envelope_of(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a request of 2026-07-28 says of its sender, for a further request in its name."""
    meta = (params or {}).get("_meta")
    if not isinstance(meta, dict):
        return {}
    members = cast("dict[str, Any]", meta)
    return {key: members[key] for key in _ENVELOPE if key in members}


def is_modern(params: Mapping[str, Any] | None) -> bool:
    """Whether a request carries its protocol version in itself."""
    return PROTOCOL_VERSION_META_KEY in envelope_of(params)


def headers_for(
    method: str,
    params: Mapping[str, Any] | None,
    *,
    agreed: str | None,
    schema: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """The headers of one message.

    Args:
        method: its method.
        params: its parameters.
        agreed: the version that `initialize` agreed on; None: it has not run.
        schema: the input schema of the tool that is called, where it is known.
    """
    version = envelope_of(params).get(PROTOCOL_VERSION_META_KEY)
    if not isinstance(version, str):
        return {} if agreed is None else {MCP_PROTOCOL_VERSION_HEADER: agreed}
    headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
    said = params or {}
    name = said.get(NAME_BEARING_METHODS.get(method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    arguments = said.get("arguments")
    if method == "tools/call" and schema is not None and isinstance(arguments, dict):
        headers |= mcp_param_headers(
            x_mcp_header_map(dict(schema)), cast("dict[str, Any]", arguments)
        )
    return headers
