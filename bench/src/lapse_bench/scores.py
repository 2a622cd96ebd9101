"""What a run is worth: the source text's scores under its own names, and the true ones beside them.

The source text counts evictions and calls their reciprocal precision, which presumes that exactly
one of them is right; here that is `paper_precision`. `precision` is the share of evictions whose
value the service no longer accepted at that moment, `recall` the share of the records that lapsed
which an eviction took out. A number that was divided by nothing is null. Completed episodes stand
beside every count of events: a run that starves evicts little and looks precise.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lapse.contract import Fix
from lapse.judges import NO_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lapse.runtime import Event, Memory
    from lapse_bench.episodes import Episode
    from lapse_bench.scenarios import Scenario

__all__ = ["Judge", "Share", "payments_scores", "spent", "with_savings"]


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    ok: int
    of: int

    @property
    def pct(self) -> float | None:
        """In percent with one decimal; None of nothing."""
        return round(100 * self.ok / self.of, 1) if self.of else None

    @property
    def fraction(self) -> float | None:
        """As a fraction of one; None of nothing."""
        return round(self.ok / self.of, 4) if self.of else None

    def as_json(self) -> dict[str, Any]:
        """Numerator, denominator, percent."""
        return {"ok": self.ok, "of": self.of, "pct": self.pct}


@dataclass(slots=True)
class Judge:
    """Listens to a memory and asks the world, at each decision, whether it was right.

    Attributes:
        memory: whose decisions.
        holds: the world's judgement of a fix as things stand when it is asked.
        group: what a fix belongs to that moves as one; `look` is told which groups moved.
        correct: evictions of fixes that no longer held.
        wrong: evictions of fixes that still held.
        reasons: evictions by reason code.
        troubles: what the memory could not take in, by reason; empty in a clean run.
    """

    memory: Memory
    holds: Callable[[Fix], bool]
    group: Callable[[Fix], str] = lambda _: ""
    correct: int = 0
    wrong: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])
    troubles: Counter[str] = field(default_factory=Counter[str])
    _held: dict[str, Fix] = field(default_factory=dict[str, Fix])
    _by_group: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _lapsed: set[str] = field(default_factory=set[str])
    _caught: set[str] = field(default_factory=set[str])

    def __call__(self, event: Event) -> None:
        """Take one event."""
        match event.what, event.record:
            case "stored", str(record):
                fix = Fix.of(self.memory.record(record))
                self._held[record] = fix
                self._by_group.setdefault(self.group(fix), set()).add(record)
            case "evicted", str(record):
                self._evicted(record, event.reason)
            case "superseded", str(record):
                self._leave(record)
            case (("failed" | "observer_failed"), _):
                self.troubles[str(event.reason)] += 1
            case _:
                pass

    def _evicted(self, record: str, reason: str) -> None:
        self.reasons[str(reason)] += 1
        if self.holds(self._leave(record)):
            self.wrong += 1
            return
        self.correct += 1
        self._lapsed.add(record)
        self._caught.add(record)

    def _leave(self, record: str) -> Fix:
        fix = self._held.pop(record)
        self._by_group[self.group(fix)].discard(record)
        return fix

    def look(self, groups: Iterable[str] = ("",)) -> None:
        """Note which of the held fixes no longer hold; call it after the world has moved.

        Args:
            groups: what has moved.
        """
        for group in groups:
            for record in self._by_group.get(group, ()):
                if record not in self._lapsed and not self.holds(self._held[record]):
                    self._lapsed.add(record)

    @property
    def evictions(self) -> int:
        """How many there were."""
        return self.correct + self.wrong

    @property
    def precision(self) -> float | None:
        """The share of evictions that were right."""
        return Share(self.correct, self.evictions).fraction

    @property
    def recall(self) -> float | None:
        """The share of lapsed records that an eviction took out."""
        return Share(len(self._caught), len(self._lapsed)).fraction

    @property
    def lapsed(self) -> int:
        """How many records lapsed while they were held."""
        return len(self._lapsed)


def spent(episodes: Iterable[Episode]) -> dict[str, Any]:
    """What the planner of an arm read and wrote, and what became of its first attempts.

    `memory` is the part of `prompt` that is the memory block; `amended_by_transport` counts first
    attempts into which the transport merged what was remembered; `strayed` counts tasks whose
    accepted request was not what they asked for.
    """
    total, failures, amended, strayed = NO_TOKENS, Counter[str](), 0, 0
    for episode in episodes:
        total += episode.tokens
        amended += episode.amended > 0
        strayed += episode.strayed
        failures.update(episode.failures)
    return {
        "amended_by_transport": amended,
        "tokens": {
            "prompt": total.prompt,
            "completion": total.completion,
            "memory": total.memory,
        },
        "planner_failures": dict(failures),
        "strayed": strayed,
    }


def with_savings(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The arms, each with the share of A0's tokens that it did without, in percent (Table 6).

    It is null where A0 did not run, or where no tokens were counted.
    """
    base = _both(arms["A0"]["tokens"]) if "A0" in arms else 0
    return {
        name: {
            **scores,
            "saving_pct": round(100 * (1 - _both(scores["tokens"]) / base), 1) if base else None,
        }
        for name, scores in arms.items()
    }


def _both(tokens: Mapping[str, int]) -> int:
    return tokens["prompt"] + tokens["completion"]


def payments_scores(
    scenario: Scenario, episodes: Sequence[Episode], judge: Judge, restamps: int
) -> dict[str, Any]:
    """The scores of one arm on a payments scenario."""
    families = [task.family for task in scenario.episodes]
    governed = [index for index, family in enumerate(families) if family == "governed"]
    counted = [index for index in governed if index not in scenario.excluded_slots]
    scored = [
        index for index in counted if index != governed[0]
    ]  # nothing can be known before the first

    def share(indices: Iterable[int]) -> Share:
        picked = [episodes[index].first_try for index in indices]
        return Share(sum(picked), len(picked))

    funding = [index for index, family in enumerate(families) if family == "funding"]
    first_try = {
        "governed": share(counted),
        "funding": share(funding),
        "funding_pre": share(index for index in funding if index < scenario.funding_split),
        "funding_post": share(index for index in funding if index >= scenario.funding_split),
        "control": share(index for index, family in enumerate(families) if family == "control"),
        "none": share(index for index, family in enumerate(families) if family == "none"),
    }
    compliance = share(scored)
    return {
        "episodes": len(episodes),
        "completed": sum(episode.completed for episode in episodes),
        "attempts": sum(episode.attempts for episode in episodes),
        "retries": sum(episode.retries for episode in episodes),
        "retry_vector": "".join(str(episode.retries) for episode in episodes),
        "compliance": compliance.pct,
        "compliance_of": compliance.as_json(),
        "first_try": {name: found.as_json() for name, found in first_try.items()},
        "stale_applied": sum(episode.stale for episode in episodes),
        "evictions": judge.evictions,
        "evictions_correct": judge.correct,
        "evictions_wrong": judge.wrong,
        "eviction_reasons": dict(judge.reasons),
        "restamps": restamps,
        "paper_precision": round(1 / judge.evictions, 4) if judge.evictions else None,
        "precision": judge.precision,
        "recall": judge.recall,
        "lapsed": judge.lapsed,
        "troubles": dict(judge.troubles),
        **spent(episodes),
    }
