"""Serves a declared contract over HTTP until it is told to stop.

::

    serve("acme.yaml", port=0, bound=lambda host, port: print(f"http://{host}:{port}"))
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue, MissingExtra
from lapse.server.declared import application, load

try:
    import uvicorn
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "serving a contract"
    raise MissingExtra(feature, "server") from None

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lapse.contract import Aliases
    from lapse.server.contract import Contract
    from lapse.server.exchange import ASGIApp
    from lapse.server.signing import Signing

__all__ = ["run", "serve"]

_GRACE_S = 5
"""How long open requests may finish after a signal to stop."""
_BACKLOG = 2048
_LAST_PORT = 65_535


def serve(  # noqa: PLR0913 - as many choices as a service has
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    operator_token: str | None = None,
    state_file: str | Path | None = None,
    bound: Callable[[str, int], None] | None = None,
    around: Callable[[ASGIApp, Contract], ASGIApp] | None = None,
    signing: Signing | None = None,
    aliases: Aliases | None = None,
) -> None:
    """Serve the tables, rules and policies of a file; returns when SIGINT or SIGTERM arrives.

    Args:
        path: the file.
        host: the address to listen on.
        port: the port; 0: any free one.
        operator_token: the bearer token that reloads need; None: reloads are refused.
        state_file: where versions, rows and the change log are kept over restarts; None: nowhere.
        bound: told the address once connections are accepted.
        around: puts something around the application, such as metrics.
        signing: signs what is said about the tables; None: nothing is signed.
        aliases: what tables and rows are called on the wire; None: by their names.

    Raises:
        InvalidValue: the file, the address or the port cannot be used.
        StoreError: the state file cannot be used.
    """
    contract, policies = load(
        path,
        operator_token=operator_token,
        state_file=state_file,
        signing=signing,
        aliases=aliases,
    )
    app = application(contract, policies)
    run(app if around is None else around(app, contract), host=host, port=port, bound=bound)


def run(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    bound: Callable[[str, int], None] | None = None,
    names_itself: bool = True,
) -> None:
    """Serve an ASGI application; returns when SIGINT or SIGTERM arrives, after open requests.

    Args:
        app: the application.
        host: the address to listen on.
        port: the port; 0: any free one.
        bound: told the address once connections are accepted.
        names_itself: whether `Date` and `Server` lines are added; a gateway passes on others'.

    Raises:
        InvalidValue: the address or the port cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if not 0 <= port <= _LAST_PORT:
        raise InvalidValue("port", port, f"pass 0 (any free one) to {_LAST_PORT}")
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as failure:
        remedy = f"name an address and a port that are free here ({failure})"
        raise InvalidValue("host and port", f"{host}:{port}", remedy) from None
    # The event loop turns Nagle's algorithm off only where the protocol is named; with it on, every
    # answer on a kept-alive connection waits 40 ms for the client's acknowledgement.
    listener = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach()
    )
    with listener:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                date_header=names_itself,
                server_header=names_itself,
                ws="none",
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        if bound is not None:
            # The socket listens already: who connects now is served as soon as the server runs.
            bound(*listener.getsockname()[:2])
        server.run(sockets=[listener])
