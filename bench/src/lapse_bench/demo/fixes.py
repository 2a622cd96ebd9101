"""An agent that remembers fixes, a real server whose data drifts, and four ways to live with it.

Three parts, all over real HTTP on this machine: a story of three episodes in plain words, the
payments stream of 36 episodes, and a slice of a real history. What is printed comes out of these
runs.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from rich.progress import BarColumn, Progress, TextColumn

from lapse_bench.arms import SENTENCES
from lapse_bench.demo.plot import plotted
from lapse_bench.demo.words import ladder_table, story_table
from lapse_bench.organic import run_organic
from lapse_bench.payments import run_payments
from lapse_bench.planners import planner
from lapse_bench.scenarios import load
from lapse_bench.traces import described, find, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from lapse_bench.organic import OrganicArm
    from lapse_bench.payments import ArmRun
    from lapse_bench.traces import History

__all__ = ["Played", "play", "run", "tell"]

_ARMS: Final = ("A0", "A1", "A2", "A2D")
_TIES: Final = "oldest"
_EPISODES: Final = 400
_EPISODES_FAST: Final = 120
_TRACE: Final = "endoflife"
_MARKS: Final = {"A0": "0", "A1": "1", "A2": "2", "A2D": "D"}

_INTRODUCTION: Final = """\
An agent calls a billing API. When the API refuses a request, it says what would
make it pass, and the agent remembers that fix for the next time. Then the API's
data changes, and nobody tells the agent. Four agents live through the same
calls; they differ only in what they do about that.
"""

_STORY: Final = """\
THE STORY
Episode 1: plans A and B need promotion codes that only the server knows. Each
           request is refused once, told the code, and the fix is remembered.
           Then the operator rotates the code of plan A.
Episode 2: plan A again. A remembered code is wrong now; no agent can know yet.
Episode 3: both plans once more. Who learned what from the answer in between?
"""

_STREAM: Final = """\
THE LONG RUN: 36 episodes; one code rotates, one table moves without a change.
"""

_REAL: Final = """\
REAL DRIFT: {events:,} changes of release data, {since} to {until} (endoflife.date),
replayed; every roll-out has to name the current release of its product.
"""

_NEXT: Final = """\
WHAT TO TRY NEXT
  lapse-bench run payments --planner newest    trust the newest entry
  lapse-bench run organic --trace twilio       years of a real API's constraints
  lapse-bench run payments --format json       every number, and how it was made
  lapse --help                                 memory, ledger and server
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came out of the three parts.

    Attributes:
        story: the three episodes, by arm.
        payments: the stream of 36, by arm.
        organic: the slice of a real history, by arm.
        history: what that history is.
    """

    story: Mapping[str, ArmRun]
    payments: Mapping[str, ArmRun]
    organic: Mapping[str, OrganicArm]
    history: Mapping[str, Any]

    @property
    def starved(self) -> bool:
        """Whether an episode was not completed, so that counts of events mislead."""
        runs = (*self.story.values(), *self.payments.values())
        return any(found.scores["completed"] < found.scores["episodes"] for found in runs)

    def as_json(self, *, seed: int) -> dict[str, Any]:
        """Everything that is told, and all numbers behind it."""
        return {
            "demo": "fixes",
            "seed": seed,
            "planner": _TIES,
            "story": {arm: found.scores for arm, found in self.story.items()},
            "payments": {arm: found.scores for arm, found in self.payments.items()},
            "organic": {
                "trace": self.history,
                "arms": {arm: at.as_json() for arm, at in self.organic.items()},
            },
            "sentences": {arm: SENTENCES[arm] for arm in _ARMS},
        }


def run(console: Console, *, seed: int, fast: bool, format: str) -> int:  # noqa: A002 - so called
    """Run the demonstration; returns the exit code.

    Args:
        console: where to write for people; progress is shown while it runs.
        seed: decides what is asked of the real history.
        fast: whether to ask it less.
        format: "table" for people, "json" for programs: the result, and nothing else, on stdout.
    """
    for_people = format != "json"
    if for_people:
        console.print(_INTRODUCTION, highlight=False)
    found = find(_TRACE, start=Path(__file__).parent, full=False)
    history = read(found.path, name=found.name)
    played = play(console, history, seed=seed, episodes=_EPISODES_FAST if fast else _EPISODES)
    if for_people:
        tell(console, played)
    else:
        sys.stdout.write(json.dumps(played.as_json(seed=seed), indent=2, ensure_ascii=False) + "\n")
    return int(played.starved)


def play(console: Console, history: History, *, seed: int, episodes: int) -> Played:
    """Run the three parts, with progress."""
    believer = planner(_TIES)
    columns = (
        TextColumn("{task.description:<46}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        told, stream = load("story"), load("payments")
        first = progress.add_task("three episodes", total=len(_ARMS) * len(told.episodes))
        second = progress.add_task(
            "36 episodes of billing", total=len(_ARMS) * len(stream.episodes)
        )
        third = progress.add_task("a real history of releases", total=episodes)
        story = run_payments(
            told, believer, _ARMS, tell=lambda _arm, _index, _episode: progress.advance(first)
        )
        payments = run_payments(
            stream,
            believer,
            _ARMS,
            tell=lambda arm, _index, _episode: progress.update(
                second, advance=1, description=f"36 episodes of billing, arm {arm}"
            ),
        )
        organic = run_organic(
            history,
            believer,
            _ARMS,
            episodes=episodes,
            seed=seed,
            tell=lambda index: progress.update(third, completed=index + 1),
        )
    return Played(story=story, payments=payments, organic=organic, history=described(history))


def tell(console: Console, played: Played) -> None:
    """Say what happened: story, ladders, plot, a sentence for each arm, what to do next."""
    history = played.history
    console.print(_STORY, highlight=False)
    console.print(story_table(played.story))
    console.print(_STREAM, highlight=False)
    console.print(ladder_table({arm: found.scores for arm, found in played.payments.items()}))
    span = {"since": history["since"][:4], "until": history["until"][:4]}
    console.print(_REAL.format(events=history["events"], **span), highlight=False)
    console.print(ladder_table({arm: at.as_json() for arm, at in played.organic.items()}))
    console.print("Retries so far, episode by episode (lower is better)\n", highlight=False)
    lines = {arm: (_MARKS[arm], at.retries) for arm, at in played.organic.items()}
    console.print(plotted(lines, across="episodes"), highlight=False, markup=False)
    console.print()
    console.print("THE FOUR AGENTS", highlight=False)
    for arm in _ARMS:
        console.print(
            fill(SENTENCES[arm], 78, initial_indent=f"{arm:>4}  ", subsequent_indent=" " * 6)
        )
    console.print()
    console.print(_NEXT, highlight=False, markup=False)
