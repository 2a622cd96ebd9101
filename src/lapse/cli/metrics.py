"""The options that let a server count what its clients do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.server import ASGIApp, Contract
    from lapse.server.gateway import Gateway

__all__ = ["AliasTables", "ClientHeader", "WithMetrics", "around", "around_gateway"]

WithMetrics = Annotated[
    bool, typer.Option("--metrics", help="Count what clients do, at LOCATION/metrics.")
]
AliasTables = Annotated[
    bool, typer.Option("--alias-tables", help="Leave the tables' names out of the metrics.")
]
ClientHeader = Annotated[
    str | None, typer.Option(help="The header in which clients name themselves, for metrics.")
]


def around(
    wanted: bool, *, alias_tables: bool, client_header: str | None
) -> Callable[[ASGIApp, Contract], ASGIApp] | None:
    """What puts the counting around an application; None where it is not wanted."""
    if not wanted:
        return None
    from lapse.server.metrics_prometheus import measured

    return lambda app, contract: measured(
        app, contract, alias_tables=alias_tables, client_header=client_header
    )


def around_gateway(
    wanted: bool, made: Gateway, *, alias_tables: bool, client_header: str | None
) -> ASGIApp:
    """A gateway, with the counting around it where it is wanted."""
    if not wanted:
        return made
    from lapse.server.metrics_prometheus import measured

    seat = measured(
        made,
        made.contract,
        alias_tables=alias_tables,
        client_header=client_header,
        operation_of=made.operation_of,
    )
    made.reported = seat.metrics.gateway
    return seat
