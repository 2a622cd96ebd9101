"""Which world a real history belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse_bench.worlds.constraints import ApiConstraints
from lapse_bench.worlds.objections import Objection, OrganicWorld
from lapse_bench.worlds.releases import CurrentRelease

if TYPE_CHECKING:
    from lapse_bench.traces import History

__all__ = ["Objection", "OrganicWorld", "world_of"]


def world_of(history: History) -> OrganicWorld:
    """A world for the history, still without rows: its rows say which one fits.

    Keys of the form ``METHOD path#in.param`` are an API's constraints; rows with a `latest` are
    release cycles.

    Raises:
        InvalidValue: neither is there.
    """
    if all("#" in event.key for event in history.events):
        return ApiConstraints()
    if any(
        event.after is not None and isinstance(event.after.get("latest"), str)
        for event in history.events
    ):
        return CurrentRelease()
    remedy = "give rows keyed 'METHOD path#in.param' (an API), or rows with a 'latest' (releases)"
    raise InvalidValue("trace", history.name, remedy)
