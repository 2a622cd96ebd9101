"""A proxy that gives any MCP client a memory of fixes, without a change to it.

It stands between a host and a server, passes everything through as it is, takes the results of
tool calls in, and gives the agent what still holds, as `Consume` says. A server that knows nothing
of the contract is passed through all the same.

::

    async with stdio_client(server) as upstream, stdio_server() as host:
        await serve(memory, host=host, upstream=upstream, issuer="shop")

`run` does that for a command or an address, on the process's own standard input and output.
"""

from lapse.errors import MissingExtra

try:
    import mcp as _mcp
except ImportError as _missing:  # pragma: no cover - the extra is there in the tests
    feature = "lapse.transports.mcp_proxy"
    raise MissingExtra(feature, "mcp") from _missing

from lapse.transports.mcp_proxy.proxy import APPLIED, Consume, Proxy
from lapse.transports.mcp_proxy.serving import Behind, run, serve
from lapse.transports.mcp_proxy.surfacing import KNOWN_FIXES

__all__ = ["APPLIED", "KNOWN_FIXES", "Behind", "Consume", "Proxy", "run", "serve"]

del _mcp
