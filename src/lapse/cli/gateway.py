"""`lapse gateway`: the contract for an API that knows nothing of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapse.cli.metrics import AliasTables, ClientHeader, WithMetrics, around_gateway
from lapse.cli.output import Format, FormatOption, counted, errors_explained, print_json, say, warn
from lapse.cli.signing import Alias, Epoch, Issuer, Sign, aliases_of, signing_of
from lapse.errors import MissingExtra

if TYPE_CHECKING:
    from lapse.server.gateway import Gateway

__all__ = ["gateway"]


class TablesFor(StrEnum):
    """How operations share tables."""

    SERVICE = "service"
    TAG = "tag"


_OpenApi = Annotated[
    Path, typer.Option(help="The API's OpenAPI document (3.0 or 3.1), JSON or YAML.")
]
_Upstream = Annotated[str, typer.Option(help="The URL of the API.")]
_Host = Annotated[str, typer.Option(help="The address to listen on.")]
_Port = Annotated[int, typer.Option(help="The port; 0 picks a free one.", min=0, max=65535)]
_Service = Annotated[
    str | None, typer.Option(help="Names the tables; the document's title does otherwise.")
]
_Tables = Annotated[
    TablesFor, typer.Option(help="One table for all operations, or one for each tag.")
]
_Location = Annotated[str, typer.Option(help="The path under which the contract endpoints are.")]
_State = Annotated[
    Path | None,
    typer.Option(help="Where versions and changes are kept, so that a restart keeps them."),
]
_Token = Annotated[
    str | None,
    typer.Option(
        envvar="LAPSE_OPERATOR_TOKEN",
        help="The bearer token that may bring a new document; without one, nobody may.",
        show_envvar=True,
    ),
]
_Poll = Annotated[
    float | None,
    typer.Option(help="Look every so many seconds whether the document's file has changed."),
]
_ReadTimeout = Annotated[float, typer.Option(help="Seconds that the API may be silent before 504.")]
_PreserveHost = Annotated[
    bool, typer.Option("--preserve-host", help="Show the API the client's Host.")
]


def gateway(
    openapi: _OpenApi,
    upstream: _Upstream,
    host: _Host = "127.0.0.1",
    port: _Port = 8422,
    service: _Service = None,
    tables: _Tables = TablesFor.SERVICE,
    location: _Location = "/contract",
    state: _State = None,
    operator_token: _Token = None,
    poll: _Poll = None,
    read_timeout: _ReadTimeout = 60.0,
    preserve_host: _PreserveHost = False,
    metrics: WithMetrics = False,
    alias_tables: AliasTables = False,
    client_header: ClientHeader = None,
    sign: Sign = None,
    issuer: Issuer = None,
    epoch: Epoch = None,
    alias: Alias = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Give an existing API the contract: a reverse proxy that knows the API's document."""
    with errors_explained():
        try:
            from lapse.server.gateway import Forwarding, Gateway
            from lapse.server.gateway_run import serve_gateway
        except ImportError as missing:
            raise MissingExtra("lapse gateway", "gateway") from missing

        made = Gateway(
            openapi,
            upstream,
            service=service,
            grouping=tables.value,
            forwarding=Forwarding(read_s=read_timeout, preserve_host=preserve_host),
            operator_token=operator_token,
            location=location,
            state_file=state,
            signing=signing_of(sign, issuer=issuer, epoch=epoch, host=host, port=port),
            aliases=aliases_of(alias),
        )
        serve_gateway(
            made,
            app=around_gateway(
                metrics, made, alias_tables=alias_tables, client_header=client_header
            ),
            host=host,
            port=port,
            poll_s=poll,
            bound=lambda at, bound_port: _print_address(
                made,
                f"http://{at}:{bound_port}",
                reloads=operator_token is not None,
                format_=format_,
            ),
            told=say if format_ is Format.TABLE else warn,
        )


def _print_address(made: Gateway, address: str, *, reloads: bool, format_: Format) -> None:
    location = made.contract.location
    rows = {name: len(table.rows) for name, table in made.contract.registry.tables.items()}
    unsaid = dict(made.described.unsaid)
    if format_ is Format.JSON:
        print_json(
            {
                "address": address,
                "versions": f"{address}{location}/versions",
                "operations": len(made.described.operations),
                "tables": rows,
                "unsaid": unsaid,
                "reloads": reloads,
            }
        )
        return
    said = f"{counted(sum(rows.values()), 'row')} in {counted(len(rows), 'table')}"
    operations = counted(len(made.described.operations), "operation")
    say(f"Serving on {address}; {operations}, {said}; stop with Ctrl-C.")
    if unsaid:
        named = ", ".join(f"{name} ({times})" for name, times in sorted(unsaid.items()))
        say(f"Not in rows, so never suggested from: {named}.")
    say(f"Next: curl -s {address}{location}/versions")
    if not reloads:
        say("A new document is read on SIGHUP; set LAPSE_OPERATOR_TOKEN to allow POSTing one.")
