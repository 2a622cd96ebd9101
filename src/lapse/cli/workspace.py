"""The commands about a shared workspace: the daily verbs beside the others, the rest in a group."""

from __future__ import annotations

import typer

from lapse.cli.workspace_returns import depart, return_, scan, view
from lapse.cli.workspace_serving import mcp, serve, token
from lapse.cli.workspace_telling import items, status, why
from lapse.cli.workspace_writing import (
    close,
    dispute,
    record,
    resolve,
    restore,
    revoke,
    supersede,
)

__all__ = ["add_workspace"]

_SAYING = "A shared workspace: what is said"
_RETURNING = "A shared workspace: leaving and coming back"
_TELLING = "A shared workspace: how it stands"


group = typer.Typer(
    no_args_is_help=True, help="Offer a shared workspace to agents in other processes."
)
for verb in (serve, token, mcp):
    group.command()(verb)


def add_workspace(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for verb in (record, supersede, revoke, close, dispute, resolve, restore):
        app.command(rich_help_panel=_SAYING)(verb)
    for verb in (depart, scan, view):
        app.command(rich_help_panel=_RETURNING)(verb)
    app.command("return", rich_help_panel=_RETURNING)(return_)
    app.add_typer(group, name="workspace")
    for verb in (status, items, why):
        app.command(rich_help_panel=_TELLING)(verb)
