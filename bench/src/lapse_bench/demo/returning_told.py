"""What came out of the story of a return, for people and for programs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapse_bench.demo.returning_story import DEAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.admission import Fallen
    from lapse.runtime import CycleStory

__all__ = ["Told", "Way"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What an agent holds for true when it works again.

    Attributes:
        name: how it was let back.
        held: ids of the shared statements that it holds for true.
        supported: the dependencies of its task that these speak for and that are true.
        waits: what it knows to be missing, and waits for.
    """

    name: str
    held: tuple[str, ...]
    supported: tuple[str, ...]
    waits: tuple[str, ...] = ()

    @property
    def dead(self) -> tuple[str, ...]:
        """The ids among them that are no longer true."""
        return tuple(name for name in self.held if name in DEAD)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "way": self.name,
            "holds_for_true": list(self.held),
            "no_longer_true": list(self.dead),
            "supported": list(self.supported),
            "waits_for": list(self.waits),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came out of the story.

    Attributes:
        ways: four ways to let the agent back, and what the last of them comes to.
        ended: what the agent knew and what had ended by itself, by id.
        first: the first return, as it was told right after it.
        first_later: the same, asked for after the second one.
        second: the second return.
        view: the bytes of its view.
        shown: what that view says, by id.
        experience: what came back of the agent's own experience, by id.
        withheld: what did not, with the reasons.
    """

    ways: tuple[Way, ...]
    ended: Mapping[str, Fallen]
    first: CycleStory
    first_later: CycleStory
    second: CycleStory
    view: bytes
    shown: Mapping[str, str]
    experience: Mapping[str, str]
    withheld: Mapping[str, tuple[str, ...]]

    @property
    def as_told(self) -> bool:
        """Whether the story ended as its source tells it."""
        return (
            self.first.outcome is not None
            and [one.dependency for one in self.first.missing] == ["pickup"]
            and self.first == self.first_later
            and set(self.shown)
            == {"o_stay", "f_stay", "o_transfer", "f_transfer"} | {"c", "h1", "t1", "p1"}
            and set(self.experience) == {"e_c"}
        )

    def as_json(self) -> dict[str, Any]:
        """Everything that is told."""
        return {
            "demo": "return",
            "verifier": "a script that stands in for a model",
            "ways": [way.as_json() for way in self.ways],
            "ended": {
                name: {"reason": fell.reason.value, "by": fell.by}
                for name, fell in self.ended.items()
            },
            "first_return": _outcome(self.first),
            "first_return_unchanged": self.first == self.first_later,
            "second_return": _outcome(self.second),
            "view": {
                "sha256": hashlib.sha256(self.view).hexdigest(),
                "bytes": len(self.view),
                "says": dict(self.shown),
            },
            "experience_back": dict(self.experience),
            "experience_withheld": {name: list(why) for name, why in self.withheld.items()},
        }


def _outcome(story: CycleStory) -> dict[str, Any]:
    """A return for programs."""
    return {
        "cycle": story.returning.cycle,
        "revision": story.returning.epoch,
        "outcome": "admitted" if story.outcome is None else story.outcome.value,
        "cov": story.coverage.cov,
        "crit": story.coverage.crit,
        "shown": list(story.shown) if story.outcome is None else [],
        "missing": [
            {"dependency": one.dependency, "needed_by": list(one.needed_by)}
            for one in story.missing
        ],
        "left_out": {
            name: {"reasons": [reason.value for reason in one.reasons], "by": one.by}
            for name, one in sorted(story.left_out.items())
        },
        "questions": {"asked": story.spent.asked, "reused": story.spent.reused},
    }
