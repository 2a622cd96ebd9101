"""The commands about a shared workspace: the daily verbs beside the others, the rest in a group."""

from __future__ import annotations

import typer

from lapse.cli.workspace_returns import depart, return_, scan, view
from lapse.cli.workspace_telling import items, status, why
from lapse.cli.workspace_writing import close, dispute, record, restore, revoke, supersede

__all__ = ["add_workspace"]

_SAYING = "A shared workspace: what is said"
_RETURNING = "A shared workspace: leaving and coming back"
_TELLING = "A shared workspace: how it stands"


def add_workspace(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for verb in (record, supersede, revoke, close, dispute, restore):
        app.command(rich_help_panel=_SAYING)(verb)
    for verb in (depart, scan, view):
        app.command(rich_help_panel=_RETURNING)(verb)
    app.command("return", rich_help_panel=_RETURNING)(return_)
    for verb in (status, items, why):
        app.command(rich_help_panel=_TELLING)(verb)
