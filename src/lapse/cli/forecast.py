"""`lapse memory forecast`: what the ledger's own history says about what moves next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse.cli.output import Format, FormatOption, iso, print_json, print_table, say
from lapse.cli.stores import (
    DEFAULT_STORE,
    AnchorOption,
    KeyOption,
    StoreOption,
    memory_at,
    shown,
)
from lapse.contract import DAY, Prices
from lapse.contract import forecast as foreseen

if TYPE_CHECKING:
    from lapse.contract import CoDrift, Forecast, Prefetch

__all__ = ["forecast"]

_FEWEST_DAYS = 1 / 1440
"""A minute."""


def forecast(
    store: StoreOption = DEFAULT_STORE,
    days: Annotated[
        float, typer.Option("--days", min=_FEWEST_DAYS, help="How far to look ahead.")
    ] = 7.0,
    rows: Annotated[
        int, typer.Option("--rows", min=0, help="How many rows to show, the likeliest first.")
    ] = 20,
    ask: Annotated[
        float, typer.Option("--ask", min=0, help="What asking about one table costs, in any unit.")
    ] = 1.0,
    stale_use: Annotated[
        float,
        typer.Option(
            "--stale-use", min=0, help="What acting on a lapsed fix costs, in the same unit."
        ),
    ] = 10.0,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Say how likely tables and rows are to move, and what is worth asking about first.

    It reads the ledger and changes nothing: only what a service says makes a fix lapse.
    """
    with memory_at(store, anchor, anchor_key) as memory:
        held = memory.records()
        outlook = foreseen(memory.store.changes(), memory.now)
    horizon = round(days * DAY)
    tables = outlook.tables(horizon)
    likely = outlook.rows(horizon)[:rows]
    together = outlook.together()
    worth = outlook.prefetch(held, horizon=horizon, prices=Prices(ask=ask, stale_use=stale_use))
    if format_ is Format.JSON:
        print_json(
            {
                "at": iso(outlook.now),
                "days": days,
                "tables": [_forecast_json(ahead) for ahead in tables],
                "rows": [_forecast_json(ahead) for ahead in likely],
                "together": [_pair_json(pair) for pair in together],
                "ask_about": [_prefetch_json(item) for item in worth],
            }
        )
        return
    soon = f"moves in {days:g} days"
    print_table(
        "What may move next",
        ("source", soon, "90 % interval", "still holds", "moves", "model"),
        [_cells(ahead) for ahead in (*tables, *likely)],
        empty=f"Nothing was ever watched in {shown(store)}.",
    )
    for pair in together:
        say(f"{pair.first} and {pair.second} move together: {pair.shared} days shared.")
    for item in worth:
        say(
            f"Worth asking about: {item.table}; in expectation that saves {item.saving:.2f} "
            f"where asking costs {ask:g}."
        )


def _cells(ahead: Forecast) -> tuple[str, ...]:
    return (
        str(ahead.source),
        f"{ahead.probability:.1%}",
        f"{ahead.low:.1%} to {ahead.high:.1%}",
        f"{ahead.confidence:.1%}",
        str(ahead.events),
        ahead.model.value,
    )


def _forecast_json(ahead: Forecast) -> dict[str, Any]:
    return {
        "source": str(ahead.source),
        "probability": ahead.probability,
        "interval": [ahead.low, ahead.high],
        "confidence": ahead.confidence,
        "moves": ahead.events,
        "moves_around": ahead.around,
        "quiet_until": None if ahead.quiet_until is None else iso(ahead.quiet_until),
        "model": ahead.model.value,
    }


def _pair_json(pair: CoDrift) -> dict[str, Any]:
    return {
        "first": str(pair.first),
        "second": str(pair.second),
        "shared_days": pair.shared,
        "expected_days": pair.expected,
        "second_given_first": pair.given_first,
        "first_given_second": pair.given_second,
    }


def _prefetch_json(item: Prefetch) -> dict[str, Any]:
    return {
        "table": str(item.table),
        "probability": item.probability,
        "saving": item.saving,
        "rows": list(item.rows),
    }
