"""Earlier and later remarks that do or do not break one another: for proposers and for verifiers.

The twenty beliefs of `stale_shaped`, in one workspace: each belief is an item that was written
before the agent left; each change, each remark that changes nothing and each piece of small talk is
an item that came meanwhile. A pair of a belief and its own change is broken; a belief and the
remark on its topic that changes nothing is a near miss.

The items have no slot in common and declare nothing, so that only what they say can be gone by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import Captured, Pair, Policy, Question, Verdict
from lapse.errors import LapseError, NoVerdict
from lapse.runtime import FREE, Cost
from lapse_bench.returns.stale_shaped import stale_shaped
from lapse_bench.workstate import OBSERVER, leaving, returning, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.admission import Scan, WorkItem
    from lapse.runtime import PairJudge, Proposer
    from lapse_bench.returns.stale_shaped import Wording

__all__ = ["Pairs", "Tried", "figures", "pairs_of", "recalled", "tried"]

_AFTER: Final = 12
"""The revision of what came meanwhile; the agent left in revision 10."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """One workspace.

    Attributes:
        scans: what a return asks proposers.
        broken: each belief with its change.
        near: each belief with the remark that changes nothing.
    """

    scans: tuple[Scan, ...]
    broken: tuple[Question, ...]
    near: tuple[Question, ...]

    @property
    def all(self) -> int:
        """How many pairs there are."""
        return sum(len(scan.later) for scan in self.scans)


def pairs_of(wording: Wording) -> Pairs:
    """The workspace with the changes in one wording: 20 beliefs, 47 later remarks, 940 pairs."""
    beliefs: list[WorkItem] = []
    later: dict[str, WorkItem] = {}
    talk: set[str] = set()
    for shaped in stale_shaped():
        said = [session[0]["content"] for session in shaped.record["haystack_session"]]
        old, new = shaped.record["relevant_session_index"]
        talk |= {text for at, text in enumerate(said) if at not in (old, new, shaped.near)}
        if (shaped.wording, shaped.stratum) != (wording, "early"):
            continue
        name = shaped.record["uid"].removesuffix(f"-early-{wording}")
        beliefs.append(statement(f"belief {name}", said[old]))
        for what, text in (("change", said[new]), ("near", said[shaped.near])):
            later[f"{what} {name}"] = statement(f"{what} {name}", text, epoch=_AFTER)
    came = [
        *later.values(),
        *(statement(f"talk {at}", text, epoch=_AFTER) for at, text in enumerate(sorted(talk))),
    ]
    checkpoint = returning(leaving(*beliefs), *beliefs, *came)
    screened = Captured(checkpoint, Policy(observers=frozenset({OBSERVER}))).next()

    def questions(what: str) -> tuple[Question, ...]:
        names = (belief.id.partition(" ")[2] for belief in beliefs)
        return tuple(
            Question(belief, later[f"{what} {name}"])
            for belief, name in zip(beliefs, names, strict=True)
        )

    return Pairs(screened.scans, questions("change"), questions("near"))


def recalled(pairs: Pairs, proposer: Proposer) -> dict[str, Any]:
    """How many broken pairs a proposer names, and how many pairs that takes."""
    found = proposer.scan(pairs.scans)
    named = {Pair(older, later) for older, one in found.items() for later in one.named}
    hits = sorted(one.pair for one in pairs.broken if one.pair in named)
    return {
        "proposer": proposer.name,
        "found": len(hits),
        "of": len(pairs.broken),
        "recall": round(len(hits) / len(pairs.broken), 4),
        "calls": len(named),
        "all_pairs": pairs.all,
        "missed": sorted(one.older.id for one in pairs.broken if one.pair not in named),
    }


@dataclass(frozen=True, slots=True)
class Tried:
    """What a judge said about one pair.

    Attributes:
        pair: the pair.
        broken: whether it is broken.
        verdict: the answer; None where there was none.
        failure: why there was none.
        cost: what it cost, as far as that is known.
    """

    pair: Pair
    broken: bool
    verdict: Verdict | None
    failure: str = ""
    cost: Cost = FREE


def tried(
    pairs: Pairs, judge: PairJudge, tell: Callable[[Tried], object] = lambda _: None
) -> tuple[Tried, ...]:
    """Ask a judge about every broken pair and every near miss."""
    found: list[Tried] = []
    for broken, questions in ((True, pairs.broken), (False, pairs.near)):
        for question in questions:
            one = _asked(question, judge, broken=broken)
            found.append(one)
            tell(one)
    return tuple(found)


def _asked(question: Question, judge: PairJudge, *, broken: bool) -> Tried:
    try:
        opinion = judge.verify(question)
    except NoVerdict as failure:
        cost = Cost(failure.calls, failure.prompt, failure.completion)
        return Tried(question.pair, broken, None, failure.reason, cost)
    except LapseError as failure:
        return Tried(question.pair, broken, None, str(failure))
    return Tried(question.pair, broken, opinion.verdict, cost=opinion.cost)


def figures(said: Sequence[Tried]) -> dict[str, Any]:
    """Shares of answers: how many breaks were seen, and how much was taken away wrongly.

    `accuracy` counts `unsure` and no answer as wrong; `balanced` is the mean over both kinds of
    pair, which is one half for whoever always gives the same answer.
    """
    broken = [one for one in said if one.broken]
    near = [one for one in said if not one.broken]
    seen = sum(one.verdict is Verdict.INVALIDATES for one in broken)
    kept = sum(one.verdict is Verdict.STANDS for one in near)
    taken = sum(one.verdict is Verdict.INVALIDATES for one in near)
    answers = [one.verdict.value if one.verdict else "none" for one in said]
    cost = sum((one.cost for one in said), FREE)
    return {
        "pairs": len(said),
        "breaks_seen": round(seen / len(broken), 4),
        "false_invalidations": round(taken / len(near), 4),
        "accuracy": round((seen + kept) / len(said), 4),
        "balanced": round((seen / len(broken) + kept / len(near)) / 2, 4),
        "answers": {word: answers.count(word) for word in sorted(set(answers))},
        "calls": cost.calls,
        "prompt_tokens": cost.prompt,
        "completion_tokens": cost.completion,
    }
