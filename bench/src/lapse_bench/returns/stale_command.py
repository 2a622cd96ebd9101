"""``lapse-bench run stale-shaped``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.options import Form, Format, Out, Seed
from lapse_bench.provenance import gathered
from lapse_bench.returns.episodes import UNLIMITED
from lapse_bench.returns.registry import METHODS, chosen_methods
from lapse_bench.returns.verifiers import (
    STAND_IN,
    Accuracies,
    Verifier,
    model_named,
    stand_ins,
    verified,
)
from lapse_bench.returns.writing import (
    ALL,
    Data,
    Methods,
    config_of,
    finish,
    now,
    progress,
    shares,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lapse_bench.returns.episodes import ReturnMethod
    from lapse_bench.returns.stale_returns import StaleEpisode

__all__ = ["stale_shaped"]


ProposerName = Annotated[
    str, typer.Option("--proposer", help="Who names pairs: union, bm25, embedded, shared, all.")
]
Most = Annotated[int, typer.Option("--most", min=1, help="How many later items it names for each.")]
Every = Annotated[int, typer.Option("--every", min=1, help="Take every so manieth belief.")]
LocalPairs = Annotated[
    int,
    typer.Option("--local-pairs", min=0, help="Also ask the local model about so many pairs."),
]
AnyFile = Annotated[
    bool, typer.Option("--any-file", help="Take a file of STALE's shape that is not STALE's.")
]


def stale_shaped(  # noqa: PLR0913, PLR0917 - the options of a command
    methods: Methods = ALL,
    verifier: Verifier = STAND_IN,
    accuracies: Accuracies = "1,0.9,0.8,0.7,0.6",
    proposer: ProposerName = "union",
    most: Most = 4,
    every: Every = 1,
    local_pairs: LocalPairs = 0,
    data: Data = None,
    any_file: AnyFile = False,  # noqa: FBT002 - a flag of a command
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Return to a remark that broke a belief without naming it: does anybody notice?"""
    from lapse_bench.returns import stale_running as running  # noqa: PLC0415 - cheap start
    from lapse_bench.returns.stale_returns import truth_of  # noqa: PLC0415

    asked = chosen_methods(split(methods))
    wanted = shares("accuracies", accuracies)
    proposers = running.proposers_named(proposer, most)
    episodes = _episodes(data, any_file=any_file, every=every)
    truth = truth_of(episodes)
    provenance = gathered(date=now())
    with model_named(verifier) as model:
        ours = verified(verifier, wanted, truth, seed=seed, proposers=proposers, model=model)
        asked = _in_place(asked, ours)
        ran = _ran(episodes, asked)
    returns = running.opened(episodes)
    judges = stand_ins(wanted, truth, seed=seed) if verifier == STAND_IN else ()
    rulings = [running.ruled(returns, judge, proposers) for judge in judges]
    result = {
        "benchmark": "stale-shaped",
        "data": _data(data, any_file=any_file),
        "config": {
            **config_of(asked, UNLIMITED, seed),
            "verifier": verifier if model is None else model.name,
            "proposer": proposer,
            "most": most,
            "every": every,
            "local_pairs": local_pairs,
        },
        **provenance.as_json(),
        "notes": list(running.STALE_NOTES),
        **ran,
        "proposers": running.recalls(returns),
        "verifiers": [*rulings, *_asked_local(returns, local_pairs)],
        "problems": [],
    }
    _told(result, form, out, first=wanted[0] if verifier == STAND_IN else None)


def _ran(episodes: Sequence[StaleEpisode], asked: Sequence[ReturnMethod]) -> dict[str, Any]:
    from lapse_bench.returns import stale_running as running  # noqa: PLC0415 - cheap start

    with progress() as bar:
        task = bar.add_task("stale-shaped", total=len(episodes) * (len(asked) + len(METHODS)))

        def tell(name: str) -> None:
            bar.update(task, advance=1, description=name)

        ran = running.run_stale(episodes, asked, tell)
        ran["declared"] = running.run_declared(episodes, tuple(METHODS.values()), tell)
    return ran


def _told(result: dict[str, Any], form: Form, out: Path | None, *, first: float | None) -> None:
    if out is not None and first is not None:
        result["figures"] = _drawn(result["methods"], out, first=first)
    columns = ("via", "iir", "overall", "ls", "left_out", "calls", "tokens")
    finish(result, columns, form, out)
    if form is not Form.JSON:
        _tables(result)


def _in_place(
    asked: tuple[ReturnMethod, ...], ours: Sequence[ReturnMethod]
) -> tuple[ReturnMethod, ...]:
    """The methods with lapse as it is run here, and lapse at further accuracies at the end."""
    if all(method.name != "lapse" for method in asked):
        return asked
    return (*(ours[0] if method.name == "lapse" else method for method in asked), *ours[1:])


def _episodes(data: Path | None, *, any_file: bool, every: int) -> tuple[StaleEpisode, ...]:
    from lapse_bench.returns.stale_returns import own_episodes, read_stale  # noqa: PLC0415

    if data is not None:
        return read_stale(data, any_file=any_file)[::every]
    if any_file:
        raise InvalidValue("any-file", "given", "name the file with --data")
    # Six episodes for each belief stand side by side: three places in two wordings.
    return tuple(one for place, one in enumerate(own_episodes()) if place // 6 % every == 0)


def _data(data: Path | None, *, any_file: bool) -> dict[str, Any]:
    from lapse_bench.returns.shipped import digest_of  # noqa: PLC0415 - cheap start
    from lapse_bench.returns.stale_returns import STALE_SHA256  # noqa: PLC0415

    if data is None:
        return {"name": "stale-shaped", "shipped": True, "stale": False}
    seen = digest_of(data) if any_file else STALE_SHA256
    return {
        "name": data.name,
        "shipped": False,
        "sha256": seen,
        "stale": seen == STALE_SHA256,
        "any_file": any_file,
    }


def _asked_local(returns: Sequence[Any], pairs: int) -> list[dict[str, Any]]:
    if not pairs:
        return []
    from lapse.judges import AllPairs  # noqa: PLC0415 - cheap start
    from lapse_bench.returns.stale_running import ruled  # noqa: PLC0415

    with model_named("local") as judge:
        assert judge is not None  # noqa: S101 - it was asked for
        return [ruled(returns, judge, (AllPairs(),), most=pairs)]


def _drawn(methods: dict[str, Any], out: Path, *, first: float) -> list[str]:
    from lapse_bench.returns.curves import draw_curve  # noqa: PLC0415 - cheap start

    if "lapse" not in methods:
        return []
    path = out.with_suffix(".png")
    title = "Changes that nobody linked: views by the verifier's accuracy"
    draw_curve(methods, path, title=title, first=first)
    return [path.name]


def _tables(result: dict[str, Any]) -> None:
    console = Console()
    reach = result["declared"]
    console.print(
        f"premises declared by hand: {reach['declared']} of {reach['n']} beliefs, "
        f"{reach['said_to_have_moved']} said to have moved",
        highlight=False,
    )
    _table(
        "with declared premises",
        ("method", "via", "iir", "overall"),
        [
            (name, told["via"], told["iir"], told["overall"])
            for name, told in reach["methods"].items()
        ],
    )
    wordings = [wording for wording in result["proposers"][0]["by_wording"] if wording]
    _table(
        "proposers",
        ("proposer", "k", "recall", *wordings, "pairs"),
        [
            (
                row["proposer"],
                row["k"],
                row["recall"],
                *(row["by_wording"][wording] for wording in wordings),
                row["pairs"],
            )
            for row in result["proposers"]
        ],
    )
    columns = ("verifier", "found", "false_invalidation", "breaking_pairs", "other_pairs")
    _table(
        "verifiers",
        columns,
        [tuple(row[column] for column in columns) for row in result["verifiers"]],
    )


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    Console().print(table)
