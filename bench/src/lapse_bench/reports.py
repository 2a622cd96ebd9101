"""Results as JSON: what was run, where, by whom, and what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapse_bench.planners import said_of
from lapse_bench.scores import with_savings
from lapse_bench.traces import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse.judges import Planner, Probe
    from lapse_bench.organic import OrganicArm
    from lapse_bench.payments import ArmRun
    from lapse_bench.provenance import Provenance
    from lapse_bench.scenarios import Scenario
    from lapse_bench.traces import History

__all__ = ["organic_result", "payments_result", "problems_of"]


def payments_result(
    scenario: Scenario,
    planner: Planner,
    runs: Mapping[str, ArmRun],
    *,
    probe: Probe,
    config: Mapping[str, Any],
    provenance: Provenance,
) -> dict[str, Any]:
    """The result of a payments scenario."""
    arms = {name: run.scores for name, run in runs.items()}
    return {
        "benchmark": "payments",
        "scenario": scenario.name,
        "world": scenario.world,
        "planner": said_of(planner, probe),
        "config": {
            **config,
            "arms": list(arms),
            "episodes": len(scenario.episodes),
            "excluded_slots": list(scenario.excluded_slots),
            "funding_split": scenario.funding_split,
            "events": [event.model_dump() for event in scenario.events],
            "transport": "HTTP/1.1 on loopback, one server for each arm",
        },
        **provenance.as_json(),
        "arms": with_savings(arms),
        "problems": list(problems_of(arms)),
    }


def organic_result(
    history: History,
    planner: Planner,
    arms: Mapping[str, OrganicArm],
    *,
    probe: Probe,
    config: Mapping[str, Any],
    provenance: Provenance,
) -> dict[str, Any]:
    """The result of a real history."""
    scores = {name: arm.as_json() for name, arm in arms.items()}
    return {
        "benchmark": "organic",
        "trace": described(history),
        "world": next(iter(arms.values())).world,
        "planner": said_of(planner, probe),
        "config": {
            **config,
            "arms": list(scores),
            "transport": "requests over HTTP/1.1 on loopback, one server for all arms; "
            "rows move through Contract.reload in the server's process",
        },
        **provenance.as_json(),
        "arms": with_savings(scores),
        "problems": list(problems_of(scores)),
    }


def problems_of(arms: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What makes a run's counts untrustworthy.

    Episodes that starved, responses that got lost, and attempts at which there was no request.
    """
    for name, scores in arms.items():
        if scores["completed"] < scores["episodes"]:
            yield (
                f"{name}: {scores['episodes'] - scores['completed']} of {scores['episodes']} "
                "episodes were not completed, so its counts of events are too low"
            )
        if scores["troubles"]:
            yield f"{name}: the client could not take in some responses: {scores['troubles']}"
        if scores["strayed"]:
            yield (
                f"{name}: {scores['strayed']} requests were accepted that were not what the task "
                "asked for, so those tasks count as not done"
            )
        for reason, times in scores["planner_failures"].items():
            yield f"{name}: {times} attempts without a request: {reason}"
