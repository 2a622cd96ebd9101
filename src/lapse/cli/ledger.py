"""`lapse ledger`: is the stored ledger the one that was left?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from lapse.cli.output import Exit, Format, FormatOption, counted, iso, print_json, say
from lapse.cli.stores import (
    DEFAULT_STORE,
    AnchorOption,
    KeyOption,
    StoreOption,
    anchor_at,
    store_at,
)
from lapse.errors import LedgerNotTrusted
from lapse.ledger import Break, examine
from lapse.storage import SystemClock

if TYPE_CHECKING:
    from lapse.errors import Finding

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Check a ledger's chain, and keep its head outside the store."
)


@app.command()
def verify(
    store: StoreOption = DEFAULT_STORE,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Check every link, every digest, the kept state and, when named, the anchor."""
    with store_at(store) as opened:
        try:
            anchored = None if anchor is None else anchor_at(anchor, anchor_key).read()
        except LedgerNotTrusted as forged:
            _refuse(forged.found, format_)
        found = examine(
            opened.ledger, tuple(opened.changes()), kept=opened.state(), anchored=anchored
        )
    if isinstance(found, Break):
        _refuse(found, format_)
    if format_ is Format.JSON:
        print_json(
            {
                "trusted": True,
                "changes": found.head.seq,
                "digest": found.head.digest,
                "anchored": anchored is not None,
                "unanchored_changes": found.unanchored,
            }
        )
        return
    say(
        f"{counted(found.head.seq, 'change')}: every link and every digest holds,",
        "and the kept state is what they add up to.",
    )
    if anchored is None:
        say("Nothing outside the store vouches for its end; 'lapse ledger anchor FILE' does.")
    else:
        since = counted(found.unanchored, "change")
        say(f"Anchored at change {anchored.head.seq} on {iso(anchored.at)}; {since} since.")


def _refuse(found: Finding, format_: Format) -> NoReturn:
    if format_ is Format.JSON:
        print_json(
            {
                "trusted": False,
                "reason": str(found.kind),
                "change": found.seq,
                "detail": found.detail,
            }
        )
    else:
        say(f"Not to be trusted: {found}.")
    raise typer.Exit(Exit.PROBLEMS)


@app.command()
def anchor(
    file: Annotated[
        Path,
        typer.Argument(help="The anchor's file: keep it where writers of the store cannot write."),
    ],
    store: StoreOption = DEFAULT_STORE,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Check the ledger against its anchor, then move the anchor to the head of the chain."""
    with store_at(store) as opened:
        keeper = anchor_at(file, anchor_key)
        found = examine(
            opened.ledger, tuple(opened.changes()), kept=opened.state(), anchored=keeper.read()
        )
        if isinstance(found, Break):
            raise LedgerNotTrusted(found)
        keeper.advance(opened.ledger, found.head, at=SystemClock().now())
    if format_ is Format.JSON:
        print_json(
            {"anchored_change": found.head.seq, "digest": found.head.digest, "file": str(file)}
        )
    else:
        say(
            f"Anchored change {found.head.seq} in {file}.",
            f"Next: name it with '--anchor {file}', and every read insists on it.",
        )
