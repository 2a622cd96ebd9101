"""The planners that a benchmark is run with: asked for by name, and probed before anything runs.

A planner of `lapse.judges` that no model stands behind is wrapped, where a run counts tokens, in a
counter that says what its requests would have cost a model.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from lapse.judges import (
    SCRIPTED,
    STAND_IN,
    Counted,
    PlannerSettings,
    checked,
    counter_named,
    planner_named,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.judges import Planner, Probe, TokenCounter

__all__ = ["PLANNERS", "counted", "planner", "probed", "said_of"]

PLANNERS: Final[Mapping[str, Planner]] = {name: SCRIPTED[name] for name in ("oldest", "newest")}
"""The planners that do all they are told; between them lies what a tie-break is worth."""


def probed(name: str, settings: PlannerSettings | None = None) -> tuple[Planner, Probe]:
    """The planner of this name, and who answered for it.

    Raises:
        InvalidValue: there is none, or another one answers.
        MissingExtra: a package that it needs is not installed.
        LapseError: nobody answers.
    """
    found = planner_named(name, settings)
    return found, checked(found)


def planner(name: str, *, seed: int = 0) -> Planner:
    """The planner of this name, after its probe; see `probed` for what it raises."""
    return probed(name, PlannerSettings(seed=seed))[0]


def counted(planner: Planner, settings: PlannerSettings | None = None) -> Planner:
    """The planner, with what its requests would cost a model where no model counts for itself."""
    settings = settings or PlannerSettings()
    if planner.name in SCRIPTED or planner.name.startswith(STAND_IN):
        return Counted(planner, _counter(), level=settings.level, prompting=settings.prompting)
    return planner


@cache  # its tables take a second to load
def _counter() -> TokenCounter:
    return counter_named()


def said_of(planner: Planner, probe: Probe) -> dict[str, Any]:
    """What a result says about who wrote its requests.

    Args:
        planner: as it was run.
        probe: what it answered before the run.
    """
    return {
        "asked": probe.asked,
        "answered": probe.answered,
        "stand_in": probe.stand_in,
        "tokens": f"{planner.counter.name}, as if a model had been asked"
        if isinstance(planner, Counted)
        else "as the planner counts them",
    }
