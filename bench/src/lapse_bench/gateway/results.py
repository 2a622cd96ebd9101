"""The result of a replay through a gateway, as JSON and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from lapse_bench.traces import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse_bench.gateway.replay import Replayed
    from lapse_bench.provenance import Provenance
    from lapse_bench.traces import History

__all__ = ["gateway_result", "gateway_table"]


def gateway_result(
    history: History,
    replayed: Replayed,
    *,
    config: Mapping[str, Any],
    provenance: Provenance | None = None,
) -> dict[str, Any]:
    """What was run, and what came out."""
    arms = {name: arm.as_json() for name, arm in replayed.arms.items()}
    faults = dict(sorted(replayed.faults.items()))
    total = sum(faults.values())
    derived = sum(count for (_, cure), count in faults.items() if cure == "suggested")
    return {
        "benchmark": "gateway",
        "trace": described(history),
        "config": {
            **config,
            "arms": list(arms),
            "transport": "HTTP/1.1 on loopback: agents, questions and documents",
        },
        **({} if provenance is None else provenance.as_json()),
        "arms": arms,
        "faults": [
            {"kind": kind, "cure": cure, "count": count} for (kind, cure), count in faults.items()
        ],
        "faults_found": total,
        "faults_cured": derived,
        "reloads": replayed.reloads,
        "rows_changed": replayed.rows_changed,
        "reloads_inexact": replayed.inexact,
        "unsaid": replayed.unsaid,
        "problems": list(_problems(arms, replayed)),
    }


def gateway_table(result: Mapping[str, Any]) -> Table:
    """One line an arm."""
    columns = (
        "arm",
        "episodes",
        "done",
        "retries",
        "first-try",
        "suggested",
        "looked up",
        "remembered",
        "stale",
    )
    table = Table(
        title=f"{result['trace']['name']} behind a gateway: "
        f"{result['faults_cured']} of {result['faults_found']} faults have a cure in the document",
        title_justify="left",
        box=box.SIMPLE,
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "arm" else "right")
    for name, scores in result["arms"].items():
        numbers = (
            scores["episodes"],
            scores["completed"],
            scores["retries"],
            scores["first_try"],
            scores["suggested"],
            scores["looked_up"],
            scores["remembered"],
            scores["remembered_stale"],
        )
        table.add_row(name, *map(str, numbers))
    return table


def _problems(arms: Mapping[str, Mapping[str, Any]], replayed: Replayed) -> Iterator[str]:
    for name, scores in arms.items():
        if scores["completed"] < scores["episodes"]:
            missing = scores["episodes"] - scores["completed"]
            yield f"{name}: {missing} of {scores['episodes']} episodes were not completed"
        if scores["suggested_wrong"]:
            yield f"{name}: {scores['suggested_wrong']} suggested values were refused"
    if replayed.inexact:
        yield f"{replayed.inexact} reloads had another diff than the rows that moved"
