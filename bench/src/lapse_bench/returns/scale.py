"""How a return grows: with what is held, how long the absence is, and how many stayed.

A workspace of beliefs and remarks: the twenty beliefs in STALE's shape, half of which a remark of a
teammate breaks, their near misses, and otherwise what Memora's personas wrote down, each line once.
Nothing is linked, so explicit rules decide nothing, and a verifier has to be asked. What is asked
is counted by stage:

| stage | calls |
| --- | --- |
| explicit rules, gates, selection, signature | none |
| scan by rules (words, vectors) | none |
| scan by a model, as the source text does it | one for each item and each four later remarks |
| verify | one for each pair that was named |

The pairs are counted apart for what the returning agent held and for what came in its absence: the
second are asked about when they are written, by whoever is there, and kept.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import Verdict
from lapse.errors import InvalidValue
from lapse.judges import AllPairs, Bm25, Embedded
from lapse.runtime import Judging
from lapse_bench.returns.episodes import (
    UNLIMITED,
    Answers,
    Claim,
    ReturnEpisode,
    judged,
)
from lapse_bench.returns.lapse_method import LapseMethod, screened
from lapse_bench.returns.metrics import percent
from lapse_bench.returns.shipped import rows_of, shipped
from lapse_bench.returns.stale_shaped import stale_shaped
from lapse_bench.returns.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lapse.admission import Question, Scan
    from lapse.runtime import Proposer
    from lapse_bench.returns.episodes import ReturnMethod

__all__ = ["SCALE_NOTES", "Grown", "grown", "measured", "run_scale"]

SCALE_NOTES: Final = (
    "One workspace for each row, without links: nothing but a verifier can tell what broke.",
    "model scan: calls of the source's scan, one for each item and four later remarks.",
    "held: pairs about what the agent held; absence: about what came while it was away.",
    "via and iir are those of lapse with an honest stand-in; tokens are of all its questions.",
)

_PER_SCAN: Final = 4
"""Later remarks in one call of the source's scan (Table 4 there)."""

_BROKEN: Final = 10
"""Of the twenty beliefs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """One workspace.

    Attributes:
        held: items that the agent left with.
        team: how many stayed.
        each: remarks that each of them made.
        episode: for methods.
        answers: for the score.
        broken: the texts of each belief and of what broke it.
    """

    held: int
    team: int
    each: int
    episode: ReturnEpisode
    answers: Answers
    broken: frozenset[tuple[str, str]]

    def truth(self) -> Callable[[Question], Verdict]:
        """What an honest verifier answers."""

        def says(question: Question) -> Verdict:
            pair = question.older.text, question.later.text
            return Verdict.INVALIDATES if pair in self.broken else Verdict.STANDS

        return says


def grown(*, held: int, team: int, each: int, seed: int = 0) -> Grown:
    """A workspace of this size.

    Args:
        held: items that the agent left with, at least as many as there are beliefs.
        team: how many stayed.
        each: remarks that each of them made; together at least as many as beliefs are broken.
        seed: decides what else is said, and the order.

    Raises:
        InvalidValue: a number is too small, or too large for what there is to say.
    """
    beliefs = _beliefs()
    events = team * each
    _check(("held", held, len(beliefs)), ("team", team, 1), ("each", each, 1))
    _check(("events", events, _BROKEN))
    draw = random.Random(f"{seed}/{held}/{team}/{each}")
    said = list(_lines())
    if held + events > len(said):
        raise InvalidValue("held", held + events, f"there are {len(said)} lines to say")
    draw.shuffle(said)
    others = iter(said)
    broken = sorted(draw.sample(range(len(beliefs)), _BROKEN))
    old = [belief for belief, _, _ in beliefs]
    old += islice(others, held - len(old))
    new = [beliefs[place][1] for place in broken]
    new += [near for _, _, near in beliefs][: events - len(new)]
    new += islice(others, events - len(new))
    draw.shuffle(old)
    draw.shuffle(new)
    bank = tuple(_claim(place, text, "me", "held") for place, text in enumerate(old))
    log = tuple(
        _claim(held + place, text, f"agent {place % team}", "came")
        for place, text in enumerate(new)
    )
    facts = {claim.text: claim.fact for claim in (*bank, *log)}
    stale = frozenset(facts[beliefs[place][0]] for place in broken)
    holds = [beliefs[place][0] for place in range(len(beliefs)) if place not in broken]
    changes = [beliefs[place][1] for place in broken]
    return Grown(
        held=held,
        team=team,
        each=each,
        episode=ReturnEpisode(
            id=f"scale-{held}-{team}-{each}",
            workload="Go on.",
            departed=held,
            returned=held + events + 1,
            bank=bank,
            log=log,
            store=frozenset(claim.id for claim in (*bank, *log)),
        ),
        answers=Answers(valid=frozenset(facts[text] for text in (*holds, *changes)), stale=stale),
        broken=frozenset((beliefs[place][0], beliefs[place][1]) for place in broken),
    )


def _check(*bounds: tuple[str, int, int]) -> None:
    for field, value, least in bounds:
        if value < least:
            raise InvalidValue(field, value, f"give at least {least}")


def _claim(place: int, text: str, source: str, attribute: str) -> Claim:
    return Claim(
        id=f"{attribute}-{place}",
        at=place + 1 if attribute == "came" else place,
        entity=f"line {place}",
        attribute=attribute,
        value=text,
        text=text,
        source=source,
    )


@cache
def _beliefs() -> tuple[tuple[str, str, str], ...]:
    """Each belief, what breaks it, and the near miss."""
    return tuple(
        (
            shaped.record["M_old"],
            shaped.record["M_new"],
            shaped.record["haystack_session"][shaped.near][0]["content"],
        )
        for shaped in stale_shaped()
        if (shaped.wording, shaped.stratum) == ("plain", "early")
    )


@cache
def _lines() -> tuple[str, ...]:
    """What Memora's personas wrote down, each line once, in the order of the data."""
    return tuple(dict.fromkeys(_told(rows_of(shipped("memora")))))


def _told(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        details: dict[str, Any] = row.get("operation_details") or {}
        match row.get("session_type"), details:
            case "preference", {"item": str(item), "preference": str(likes), "subcategory": part}:
                yield f"{row['persona']} on {str(part).replace('_', ' ')}: {likes} {item}"
            case "goal", {"item": str(item)}:
                yield f"{row['persona']} wants to {item}"
            case "activity", {"category": "todo_list", "item": {"description": str(what)}}:
                yield f"{row['persona']} has to do: {what}"
            case "activity", {"category": "calendar_event", "item": {"event_name": str(what)}}:
                yield f"{row['persona']} has an appointment: {what}"
            case _:
                pass


def measured(one: Grown, most: int) -> dict[str, Any]:
    """Calls by stage, tokens, and what the view is worth, for one workspace."""
    scans = screened(one.episode).scans
    held = {claim.id for claim in one.episode.bank}
    proposers = (Bm25(most), Embedded(most))
    named = _pairs(scans, proposers)
    every = _pairs(scans, (AllPairs(),))
    ours = LapseMethod("lapse", Judging(proposers, StandIn(one.truth())))
    said = judged(ours, one.episode, one.answers, UNLIMITED)
    breaking = {
        (scan.older.id, item.id)
        for scan in scans
        for item in scan.later
        if (scan.older.text, item.text) in one.broken
    }
    return {
        "held": one.held,
        "team": one.team,
        "each": one.each,
        "events": one.team * one.each,
        "recall": percent(len(breaking & named) / len(breaking)),
        "via": percent(sum(said.available) / len(said.available)),
        "iir": percent(sum(said.withheld) / len(said.withheld)),
        "verify_held": sum(older in held for older, _ in named),
        "verify_absence": sum(older not in held for older, _ in named),
        "calls": said.calls,
        "tokens": said.tokens,
        "all_pairs_held": sum(older in held for older, _ in every),
        "all_pairs_absence": sum(older not in held for older, _ in every),
        "model_scan_held": sum(
            ceil(len(scan.later) / _PER_SCAN) for scan in scans if scan.older.id in held
        ),
    }


def _pairs(scans: Sequence[Scan], proposers: Sequence[Proposer]) -> set[tuple[str, str]]:
    return {
        (older, name)
        for proposer in proposers
        for older, proposal in proposer.scan(scans).items()
        for name in proposal.named
    }


def run_scale(
    workspaces: Sequence[Grown],
    methods: Sequence[ReturnMethod],
    *,
    most: int,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Rows of figures, and the scores of methods that ask nobody, over all workspaces.

    Raises:
        InvalidValue: there is no workspace, or a method admitted what it may not.
    """
    if not workspaces:
        raise InvalidValue("workspaces", 0, "name at least one size")
    rows: list[dict[str, Any]] = []
    for one in workspaces:
        rows.append(measured(one, most))
        tell("lapse")
    n = len(rows)
    scores: dict[str, Any] = {}
    for method in methods:
        found = [judged(method, one.episode, one.answers, UNLIMITED) for one in workspaces]
        scores[method.name] = {
            "via": percent(sum(sum(s.available) / len(s.available) for s in found) / n),
            "iir": percent(sum(sum(s.withheld) / len(s.withheld) for s in found) / n),
            "overall": None,
            "n": n,
            "calls": sum(said.calls for said in found),
            "tokens": sum(said.tokens for said in found),
        }
        tell(method.name)
    scores["lapse"] = {
        "via": round(sum(row["via"] for row in rows) / n, 2),
        "iir": round(sum(row["iir"] for row in rows) / n, 2),
        "overall": None,
        "n": n,
        "calls": sum(row["calls"] for row in rows),
        "tokens": sum(row["tokens"] for row in rows),
    }
    return {"methods": scores, "rows": rows}
