"""The arms that are compared: one client each, with one way to deal with what moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.contract import POLICIES
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ARMS", "ORGANIC_ARMS", "SENTENCES", "chosen"]

ARMS: Final = tuple(POLICIES)
"""Every arm by its name in the source text, from no memory to row granularity with propagation."""

ORGANIC_ARMS: Final = ("A0", "A1", "A2", "A2D")
"""The arms that differ on a real history: its fixes rest on one row each and on nothing else."""

SENTENCES: Final[Mapping[str, str]] = {
    "A0": "Remembers nothing, so it pays for every lesson again.",
    "A1": "Remembers everything and never asks whether it is still true, so it repeats what has "
    "lapsed.",
    "A2": "Forgets a whole table when anything in it moves, so it pays again for lessons that "
    "still held.",
    "A2D": "Asks which rows changed, forgets only what rested on those, and keeps the rest.",
    "A2DC": "As A2D, and tells whatever was built on a forgotten lesson.",
    "A2DG": "As A2D, and follows the service's graph to what depends on a changed row.",
}
"""What each arm does, for somebody who meets it for the first time."""


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The arms of these names, in the order of the ladder.

    Raises:
        InvalidValue: there is no arm of one of the names, or no name at all.
    """
    for name in names:
        if name not in POLICIES:
            raise InvalidValue("arms", name, f"name some of {', '.join(ARMS)}, with commas between")
    if not names:
        raise InvalidValue("arms", names, f"name some of {', '.join(ARMS)}, with commas between")
    return tuple(arm for arm in ARMS if arm in names)
