"""The command `lapse`, put together."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated

import typer

from lapse.cli import ledger, memory
from lapse.cli.forecast import forecast
from lapse.cli.gateway import gateway
from lapse.cli.mcp import mcp_proxy
from lapse.cli.metrics import AliasTables, ClientHeader, WithMetrics, around
from lapse.cli.output import (
    Exit,
    Format,
    FormatOption,
    errors_explained,
    print_json,
    say,
    warn,
)
from lapse.cli.preflight import preflight
from lapse.cli.signing import Alias, Epoch, Issuer, Sign, aliases_of, signing_of
from lapse.cli.workspace import add_workspace
from lapse.errors import InvalidValue, MissingExtra

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Know which remembered things have lapsed, and why.",
)
memory.app.command("forecast")(forecast)
app.add_typer(memory.app, name="memory")
app.add_typer(ledger.app, name="ledger")
app.command()(gateway)
app.command(name="mcp-proxy")(mcp_proxy)
app.command()(preflight)
add_workspace(app)

_DEMOS = "lapse.demos"
"""The entry-point group under which a distribution offers demonstrations."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lapse {version('lapse')}")
        raise typer.Exit


@app.callback()
def options(
    version_: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Know which remembered things have lapsed, and why."""
    del version_


@app.command()
def demo(
    name: Annotated[
        str, typer.Argument(help="Which demonstration: 'fixes' or 'return'.")
    ] = "fixes",
    seed: Annotated[int, typer.Option(help="Seed of the run; equal seeds give equal results.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="A shorter run.")] = False,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Watch agents whose memory goes wrong, and agents whose memory does not.

    'fixes': an agent remembers fixes against a real server whose data drifts. 'return': an agent
    leaves a shared task and comes back.
    """
    with errors_explained():
        found = {entry.name: entry for entry in entry_points(group=_DEMOS)}
        if not found:
            raise MissingExtra("lapse demo", "demo")
        if name not in found:
            raise InvalidValue("demo", name, f"pick one of {', '.join(sorted(found))}")
        from rich.console import Console

        run = found[name].load()
        code = run(
            Console(stderr=format_ is Format.JSON), seed=seed, fast=fast, format=format_.value
        )
    raise typer.Exit(code or Exit.FINE)


@app.command()
def serve(
    file: Annotated[
        Path, typer.Argument(help="The service's tables, rules and policies, in YAML.")
    ],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 picks a free one.", min=0, max=65535)
    ] = 8422,
    state: Annotated[
        Path | None,
        typer.Option(
            help="Where versions, rows and the change log are kept, so that a restart keeps them."
        ),
    ] = None,
    operator_token: Annotated[
        str | None,
        typer.Option(
            envvar="LAPSE_OPERATOR_TOKEN",
            help="The bearer token that may reload tables; without one, nobody may.",
            show_envvar=True,
        ),
    ] = None,
    metrics: WithMetrics = False,
    alias_tables: AliasTables = False,
    client_header: ClientHeader = None,
    sign: Sign = None,
    issuer: Issuer = None,
    epoch: Epoch = None,
    alias: Alias = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Run a contract server from one file."""
    with errors_explained():
        try:
            from lapse.server.run import serve as serve_file
        except ImportError as missing:
            raise MissingExtra("lapse serve", "server") from missing

        def bound(at: str, port_: int) -> None:
            _print_address(
                f"http://{at}:{port_}", reloads=operator_token is not None, format_=format_
            )

        serve_file(
            file,
            host=host,
            port=port,
            operator_token=operator_token,
            state_file=state,
            bound=bound,
            around=around(metrics, alias_tables=alias_tables, client_header=client_header),
            signing=signing_of(sign, issuer=issuer, epoch=epoch, host=host, port=port),
            aliases=aliases_of(alias),
        )
    if format_ is Format.TABLE:
        say("Stopped; requests that were open have been answered.")


def _print_address(address: str, *, reloads: bool, format_: Format) -> None:
    if format_ is Format.JSON:
        print_json(
            {"address": address, "versions": f"{address}/contract/versions", "reloads": reloads}
        )
        return
    say(f"Serving on {address}; stop with Ctrl-C.")
    say(f"Next: curl -s {address}/contract/versions")
    if not reloads:
        say("Nobody may reload tables: set LAPSE_OPERATOR_TOKEN to let its bearer.")


def main() -> None:
    """Run the command; the exit code is 0 for fine, 1 for problems found, 2 for wrong usage."""
    try:
        app()
    except BrokenPipeError:
        # The reader of our output went away, as 'head' does; that is not a problem of ours.
        sys.stderr.close()
    except KeyboardInterrupt:
        warn("lapse: stopped")
        sys.exit(Exit.PROBLEMS)
