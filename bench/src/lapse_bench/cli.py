"""The command `lapse-bench`.

``run payments``, ``run organic``, ``run rules``, ``run recipes``, ``report contract``, ``speed``,
``speed admission`` and ``thin``. With ``--format json`` there is nothing but JSON on standard
output; progress goes to standard error. The exit code is 0 when all is well, 1 when the run found a
problem (its result says which), and 2 when the command was wrong.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lapse.errors import CallerError, LapseError
from lapse.judges import Prompting
from lapse_bench import reports
from lapse_bench.ablations.command import app as ablate_app
from lapse_bench.arms import ARMS, ORGANIC_ARMS, chosen
from lapse_bench.attacks.command import app as attack_app
from lapse_bench.foresight.command import run as run_foresight
from lapse_bench.gateway.command import gateway as run_gateway
from lapse_bench.options import (
    BaseUrl,
    ConsumeBy,
    Consumes,
    Form,
    Format,
    Level,
    Out,
    PlannerName,
    PromptingBy,
    Seed,
    asked_for,
    config_of,
)
from lapse_bench.provenance import gathered
from lapse_bench.report.command import app as report_app
from lapse_bench.returns.command import manbench_return, memora_return
from lapse_bench.returns.pairs_command import run_pairs
from lapse_bench.returns.scale_command import return_scale
from lapse_bench.returns.stackage_command import stackage_return
from lapse_bench.returns.stale_command import stale_shaped
from lapse_bench.speed.admission_command import speed_admission
from lapse_bench.traces import SHIPPED as TRACES
from lapse_bench.traces import described, fewer, find, read, thin
from lapse_bench.wire.command import wire as count_wire

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["app", "main"]

app = typer.Typer(
    help="Worlds, drift, arms and scores that put lapse to the test over real HTTP.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
run_app = typer.Typer(help="Run a benchmark.", no_args_is_help=True)
app.add_typer(run_app, name="run")
run_app.command("foresight")(run_foresight)
run_app.command("gateway")(run_gateway)
run_app.command("memora-return")(memora_return)
run_app.command("manbench-return")(manbench_return)
run_app.command("stale-shaped")(stale_shaped)
run_app.command("stackage-return")(stackage_return)
run_app.command("return-scale")(return_scale)
run_app.command("pairs")(run_pairs)
app.add_typer(ablate_app, name="ablate")
app.add_typer(attack_app, name="attack")
speed_app = typer.Typer()
app.add_typer(speed_app, name="speed")
speed_app.command("admission")(speed_admission)
app.command("wire")(count_wire)
app.add_typer(report_app, name="report")


@run_app.command("payments")
def run_payments(
    planner: PlannerName = "oldest",
    scenario: Annotated[
        str, typer.Option(help="payments, undrifted, rotations-1, -2, -3, or a scenario file.")
    ] = "payments",
    arms: Annotated[str, typer.Option(help="Which arms, with commas between.")] = ",".join(ARMS),
    consume: ConsumeBy = Consumes.BRIEF,
    base_url: BaseUrl = "",
    level: Level = 3,
    prompting: PromptingBy = Prompting.PLAIN,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """The payments stream: 36 episodes, every arm against a server of its own."""
    from lapse_bench.payments import run_payments as run
    from lapse_bench.scenarios import load
    from lapse_bench.tables import payments_table

    told, names = load(scenario), chosen(_split(arms))
    asked, probe = asked_for(planner, seed, base_url, level, prompting)
    with _progress() as progress:
        task = progress.add_task("payments", total=len(names) * len(told.episodes))

        def tell(arm: str, _index: int, _episode: object) -> None:
            progress.update(task, advance=1, description=f"payments, arm {arm}")

        runs = run(told, asked, names, consume=consume.value, tell=tell)
    result = reports.payments_result(
        told,
        asked,
        runs,
        probe=probe,
        config=config_of(seed, level, prompting, consume),
        provenance=gathered(date=_now()),
    )
    _finish(result, payments_table(result), form, out)


@run_app.command("organic")
def run_organic(
    trace: Annotated[str, typer.Option(help=f"{', '.join(TRACES)}, or the path of a trace file.")],
    planner: PlannerName = "oldest",
    arms: Annotated[str, typer.Option(help="Which arms, with commas between.")] = ",".join(
        ORGANIC_ARMS
    ),
    episodes: Annotated[
        int, typer.Option(min=1, help="How many, spread evenly over the history.")
    ] = 2_000,
    tables: Annotated[
        int, typer.Option(min=1, help="At most so many tables, chosen by a hash of their names.")
    ] = 120,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Take the thinned copy even if the full one is here.")
    ] = False,
    base_url: BaseUrl = "",
    level: Level = 3,
    prompting: PromptingBy = Prompting.PLAIN,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """A real history replayed: requests validated against rows that drift as they did."""
    from lapse_bench import organic
    from lapse_bench.tables import organic_table

    names = chosen(_split(arms))
    asked, probe = asked_for(planner, seed, base_url, level, prompting)
    found = find(trace, start=Path.cwd(), full=not shipped)
    whole = read(found.path, name=found.name)
    history = fewer(whole, tables=tables)
    with _progress() as progress:
        task = progress.add_task(f"organic, {history.name}", total=episodes)
        ran = organic.run_organic(
            history,
            asked,
            names,
            episodes=episodes,
            seed=seed,
            tell=lambda index: progress.update(task, completed=index + 1),
        )
    result = reports.organic_result(
        history,
        asked,
        ran,
        probe=probe,
        config={
            "planner": planner,
            **config_of(seed, level, prompting),
            "episodes": episodes,
            "most_tables": tables,
            "thinned_copy": found.thinned,
            "tables_left_out": described(whole)["tables"] - described(history)["tables"],
        },
        provenance=gathered(date=_now()),
    )
    _finish(result, organic_table(result), form, out)


@run_app.command("recipes")
def run_recipes(
    planner: PlannerName = "oldest",
    arms: Annotated[str, typer.Option(help="Which arms, with commas between.")] = ",".join(ARMS),
    consume: ConsumeBy = Consumes.BRIEF,
    base_url: BaseUrl = "",
    level: Level = 3,
    prompting: PromptingBy = Prompting.PLAIN,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """The recipe stream: 48 episodes, and fixes that rewrite a value the request already names."""
    from lapse_bench import recipes
    from lapse_bench.recipes_stream import load_recipes
    from lapse_bench.recipes_table import recipes_table

    stream, names = load_recipes(), chosen(_split(arms))
    asked, probe = asked_for(planner, seed, base_url, level, prompting)
    with _progress() as progress:
        task = progress.add_task("recipes", total=len(names) * len(stream.episodes))
        told = recipes.run_recipes(
            stream,
            asked,
            names,
            consume=consume.value,
            tell=lambda arm: progress.update(task, advance=1, description=f"recipes, arm {arm}"),
        )
    result = recipes.recipes_result(
        stream,
        asked,
        told,
        probe=probe,
        config=config_of(seed, level, prompting, consume),
        provenance=gathered(date=_now()),
    )
    _finish(result, recipes_table(result), form, out)


@run_app.command("rules")
def run_rules(
    planner: PlannerName = "oldest",
    arms: Annotated[
        str, typer.Option(help="Which detection policies, with commas between.")
    ] = "A2D,A2DC,A2DR,A2DRC,A2DO",
    scenario: Annotated[Path | None, typer.Option(help="A file with another rule stream.")] = None,
    base_url: BaseUrl = "",
    level: Level = 3,
    prompting: PromptingBy = Prompting.PLAIN,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """The rule stream: 36 episodes in which rules move and rows do not."""
    from lapse_bench import rules
    from lapse_bench.rules_stream import load_rules
    from lapse_bench.rules_table import rules_table

    stream = load_rules(scenario)
    asked, probe = asked_for(planner, seed, base_url, level, prompting)
    names = rules.chosen_rule_arms(_split(arms))
    with _progress() as progress:
        task = progress.add_task("rules", total=len(names) * len(stream.episodes))
        told = rules.run_rules(
            stream,
            asked,
            names,
            tell=lambda arm: progress.update(task, advance=1, description=f"rules, arm {arm}"),
        )
    result = rules.rules_result(
        stream,
        asked,
        told,
        probe=probe,
        config=config_of(seed, level, prompting),
        provenance=gathered(date=_now()),
    )
    _finish(result, rules_table(result), form, out)


@speed_app.callback(invoke_without_command=True)
def speed(
    context: typer.Context,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the raw samples and the result.")
    ] = None,
    records: Annotated[
        int, typer.Option(min=10_000, help="Records for eviction and memory.")
    ] = 1_000_000,
    nodes: Annotated[
        int, typer.Option(min=10_000, help="Nodes of the graph; twice as many edges.")
    ] = 1_000_000,
    only: Annotated[
        str, typer.Option(help="Which ratios, with commas between; all when empty.")
    ] = "",
    seed: Seed = 0,
    form: Format = Form.TABLE,
) -> None:
    """Speed, as ratios within one run; raw samples are kept."""
    if context.invoked_subcommand is not None:
        return
    from lapse_bench.speed.suite import run_speed
    from lapse_bench.tables import speed_table

    folder = out if out is not None else _samples_folder()
    with _progress() as progress:
        task = progress.add_task("speed", total=None)
        result = run_speed(
            folder,
            records=records,
            nodes=nodes,
            seed=seed,
            only=_split(only),
            provenance=gathered(date=_now()),
            tell=lambda name: progress.update(task, description=f"speed, {name}"),
        )
    _finish(result, speed_table(result), form, folder / "speed.json")


@app.command("thin")
def thin_trace(
    trace: Annotated[str, typer.Argument(help="A trace's name or path.")],
    target: Annotated[Path, typer.Argument(help="The file to write, gzip.")],
    keep: Annotated[float, typer.Option(help="The share of table groups to keep.")] = 0.3,
) -> None:
    """Make a trace smaller by leaving whole groups of tables out, by a hash of their names."""
    found = find(trace, start=Path.cwd())
    target.write_bytes(thin(read(found.path, name=found.name), keep=keep))
    sys.stderr.write(f"{target}: {target.stat().st_size:,} bytes\n")


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _samples_folder() -> Path:
    """Where samples go when nobody says: the checkout's results, or a folder here."""
    here = Path("bench")
    in_checkout = (here / "pyproject.toml").is_file()
    return here / "results" / "speed" if in_checkout else Path("lapse-bench-speed")


def _progress() -> Progress:
    """Progress on standard error; nothing when that is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _finish(result: dict[str, Any], table: Table, form: Form, out: Path | None) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
    else:
        console = Console()
        console.print(table)
        for problem in result["problems"]:
            console.print(f"problem: {problem}", highlight=False)
    if result["problems"]:
        raise typer.Exit(1)


def main() -> None:
    """Run the command; errors that lapse foresees are one line, without a trace."""
    try:
        app()
    except CallerError as failure:
        sys.stderr.write(f"error: {failure}\n")
        sys.exit(2)
    except (LapseError, OSError) as failure:
        sys.stderr.write(f"error: {failure}\n")
        sys.exit(1)
