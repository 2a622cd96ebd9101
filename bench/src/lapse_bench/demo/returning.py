"""An agent that leaves a shared task and comes back, and four ways to let it back.

The story runs in a workspace of its own, through the same methods that agents use. What is printed
comes out of it. The verifier of inferred breaks is a script that stands in for a model.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

import lapse
from lapse.admission import Policy, Refused
from lapse.ledger import LIVE
from lapse.runtime import CycleStory, ItemStory
from lapse.testing import ManualClock, SequenceIds
from lapse_bench.demo.returning_story import (
    ABSENCE,
    BEFORE,
    CONFIRMED,
    DEAD,
    MEMBER,
    POLICY,
    judging,
)
from lapse_bench.demo.returning_told import Told, Way
from lapse_bench.demo.returning_words import (
    experience_table,
    left_out_table,
    said_table,
    view_table,
    ways_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from lapse.admission import Fallen
    from lapse.runtime import Workspace

__all__ = ["play", "run", "tell"]

_START: Final = 1_796_083_200_000_000
"""Microseconds since 1970: the 1st of December 2026."""

_WHO: Final = replace(MEMBER, purpose="booking")
_NEEDS: Final = frozenset(need for line in BEFORE for need in line.needs)
_FACTS: Final = {line.name: line for line in (*BEFORE, *ABSENCE, CONFIRMED) if line.supports}
_OWN: Final = frozenset(line.name for line in BEFORE if line.source)

_INTRODUCTION: Final = """\
    Four agents plan a family's trip in one workspace. A1, the planner, leaves, and
    the others work on. When A1 is back, everything that it remembers is about the
    trip. Not all of it is still true, and of one thing nobody said so.
    """

_AWAY: Final = """\
    WHILE A1 IS AWAY
    The hotel is replaced and the train moves. The pickup at the old hotel is void
    by that, and nobody says it. Somebody proposes another; nobody has confirmed it.
    """

_WAYS: Final = """\
    A1 IS BACK: FOUR WAYS TO LET IT WORK AGAIN
    What A1 holds for true decides what it does: what it knew when it left; nothing;
    what a return shows that follows links and infers nothing; what lapse shows.
    """

_FIRST: Final = """\
    THE FIRST RETURN: NOTHING IS SHOWN, AND WHAT IS MISSING HAS A NAME
    Of the obligations, {covered} have all they need; of the critical needs,
    {critical} are met. A part is never passed off as the whole. {asked} pairs were
    looked at; a script stands in for the model that rules on them.
    """

_SECOND: Final = """\
    A4 CONFIRMS: {text}. THE SECOND RETURN
    Obligations with all they need: {covered}; critical needs met: {critical}.
    The view is complete, signed, and shown:
    """

_EXPERIENCE: Final = """\
    A1'S OWN EXPERIENCE comes back with what it was learned from, or not at all:
    """

_LAST: Final = """\
    The first decision, asked for again, {same}: the second one had a
    checkpoint of its own. It asked {asked} new questions and used {reused} answers again.
    """

_NEXT: Final = """\
    WHAT TO TRY NEXT
      lapse record, depart, return, view     the same with a workspace of yours
      lapse why ID                           the story of an item, or of a return
      lapse workspace serve --help           for agents in other processes
    """


def run(console: Console, *, seed: int, fast: bool, format: str) -> int:  # noqa: A002 - so called
    """Run the demonstration; returns the exit code.

    Args:
        console: where to write for people.
        seed: of no matter: nothing in the story is drawn.
        fast: of no matter: it takes a second.
        format: "table" for people, "json" for programs: the result, and nothing else, on stdout.
    """
    del seed, fast
    told = play()
    if format == "json":
        sys.stdout.write(json.dumps(told.as_json(), indent=2, ensure_ascii=False) + "\n")
    else:
        tell(console, told)
    return int(not told.as_told)


def play() -> Told:
    """Play the story in a workspace that is kept in memory."""
    with _workspace(POLICY) as workspace:
        knew = _while_away(workspace)
        first = _back(workspace, "return-1")
        ended = {name: fell for name in knew if (fell := _ended(workspace, name)) is not None}
        CONFIRMED.say(workspace)
        second = _back(workspace, "return-2")
        signed = workspace.signed_view("return-2", _WHO)
        view = workspace.view("return-2", _WHO)
        mine = workspace.experience("return-2", _WHO)
        first_later = _story(workspace, "return-1")
    if isinstance(view, Refused) or isinstance(signed, Refused) or isinstance(mine, Refused):
        raise TypeError("nothing happened in between, so the view is shown")
    return Told(
        ways=(
            _way("keeps all it knew", knew),
            _way("forgets all it knew", ()),
            _way("follows what was said", _by_links()),
            _way("lapse, at first", first.shown if first.outcome is None else (), first),
            _way("lapse, then", second.shown if second.outcome is None else (), second),
        ),
        ended=ended,
        first=first,
        first_later=first_later,
        second=second,
        view=signed.body,
        shown={item.id: item.text for item in view.items},
        experience={item.id: item.text for item in mine},
        withheld={
            name: tuple(reason.value for reason in one.reasons)
            for name, one in second.left_out.items()
            if name in _OWN
        },
    )


def _workspace(policy: Policy) -> Workspace:
    return lapse.workspace(
        "memory:",
        policy=policy,
        judging=judging(),
        clock=ManualClock(_START),
        ids=SequenceIds(),
    )


def _while_away(workspace: Workspace) -> tuple[str, ...]:
    """A1 leaves, and the others work on; gives the ids of what it knew."""
    for line in BEFORE:
        line.say(workspace)
    departure = workspace.depart(MEMBER)
    for line in ABSENCE:
        line.say(workspace)
    return tuple(item.id for item in departure.items)


def _back(workspace: Workspace, cycle: str) -> CycleStory:
    workspace.return_(_WHO, cycle=cycle, workload="Book what is open")
    return _story(workspace, cycle)


def _ended(workspace: Workspace, name: str) -> Fallen | None:
    """Why an item had ended before the return, and by what; None: it had not."""
    found = workspace.explain(name)
    if not isinstance(found, ItemStory):
        raise TypeError(name)
    if found.item.status in LIVE or found.fallen is None:
        return None
    match found.chapters[-1].detail:
        case {"by": str(by)}:
            return replace(found.fallen, by=by)
        case _:
            return found.fallen


def _story(workspace: Workspace, cycle: str) -> CycleStory:
    found = workspace.explain(cycle)
    if not isinstance(found, CycleStory):
        raise TypeError(cycle)
    return found


def _by_links() -> tuple[str, ...]:
    """What a return shows that follows links and slots, and infers nothing."""
    with _workspace(replace(POLICY, unsafe_without_inference=True)) as workspace:
        _while_away(workspace)
        return _back(workspace, "return-1").shown


def _way(name: str, shown: Iterable[str], blocked: CycleStory | None = None) -> Way:
    """A way back by what the agent is shown, or by what it waits for."""
    held = tuple(sorted(one for one in shown if one in _FACTS))
    true = {_FACTS[one].supports for one in held if one not in DEAD}
    missing = () if blocked is None else tuple(one.dependency for one in blocked.missing)
    return Way(name=name, held=held, supported=tuple(sorted(true)), waits=missing)


def tell(console: Console, told: Told) -> None:
    """Say what happened, in order."""

    def words(text: str) -> None:
        console.print(dedent(text), highlight=False, markup=False)

    words(_INTRODUCTION)
    words(_AWAY)
    console.print(said_table([*BEFORE, *ABSENCE], DEAD))
    words(_WAYS)
    console.print(ways_table(told.ways, _NEEDS))
    first, second = told.first, told.second
    words(_FIRST.format(**_measures(first)))
    console.print(left_out_table(first, told.ended))
    for one in first.missing:
        last = "nobody" if one.last is None else f"{one.last.writer}, in {one.last.item}"
        words(f"Missing: {one.dependency}. It was last heard of from {last}.\n")
    words(_SECOND.format(text=CONFIRMED.text.upper(), **_measures(second)))
    console.print(view_table(told.shown))
    words(_EXPERIENCE)
    console.print(experience_table({line.name: line.text for line in BEFORE}, told))
    same = "is unchanged" if told.first == told.first_later else "HAS CHANGED"
    spent = second.spent
    words(_LAST.format(same=same, asked=spent.asked, reused=spent.reused))
    words(_NEXT)


def _measures(story: CycleStory) -> dict[str, Any]:
    cover = story.coverage
    return {
        "covered": f"{cover.covered} of {cover.obligations}",
        "critical": f"{cover.critical_covered} of {cover.critical}",
        "asked": story.spent.asked,
    }
