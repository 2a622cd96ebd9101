"""Runs methods, proposers and verifiers over returns in STALE's shape; nothing here prints."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import Question
from lapse.errors import InvalidValue, LapseError
from lapse.judges import AllPairs, Bm25, Embedded, SharedEntity
from lapse_bench.returns.lapse_method import screened
from lapse_bench.returns.metrics import percent, stale_scores
from lapse_bench.returns.stale_returns import declared, probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lapse.admission import Scan, Screened
    from lapse.runtime import PairJudge, Proposer
    from lapse_bench.returns.episodes import ReturnMethod
    from lapse_bench.returns.stale_returns import Probed, StaleEpisode

__all__ = [
    "KS",
    "STALE_NOTES",
    "Opened",
    "opened",
    "proposers_named",
    "recalls",
    "ruled",
    "run_declared",
    "run_stale",
]

STALE_NOTES: Final = (
    "Views are looked at, not answers; STALE asks a model and has another judge.",
    "sr: the view leaves the belief out. ipa: it states what broke it. pr: both.",
    "iir is sr and pr in one episode, via is ipa, ls is all three, overall the mean of the three.",
    "left_out is the share of the other observations, all of which hold, that the view lacks.",
    "What ships was written by hand, is no part of STALE, and no score on it is one on STALE.",
    "A verifier called stand-in knows the answers and errs by a coin; it is no model.",
)

KS: Final = (1, 2, 4, 8, 16)
"""How many later items a proposer names for each item, in the table of recalls."""


def proposers_named(name: str, most: int) -> tuple[Proposer, ...]:
    """The proposers behind a name of the command.

    Raises:
        InvalidValue: there is none of that name, or the number is none.
        MissingExtra: the embeddings are not installed.
    """
    match name:
        case "union":
            return Bm25(most), Embedded(most)
        case "bm25":
            return (Bm25(most),)
        case "embedded":
            return (Embedded(most),)
        case "shared":
            return (SharedEntity(most),)
        case "all":
            return (AllPairs(),)
        case _:
            remedy = "name union, bm25, embedded, shared or all"
            raise InvalidValue("proposer", name, remedy)


@dataclass(frozen=True, slots=True)
class Opened:
    """An episode with what its history leaves to be asked."""

    one: StaleEpisode
    screened: Screened

    @property
    def scans(self) -> tuple[Scan, ...]:
        """The scans; a belief that fell already has none."""
        return self.screened.scans


def opened(episodes: Iterable[StaleEpisode]) -> list[Opened]:
    """Every episode after the explicit rules."""
    return [Opened(one, screened(one.episode)) for one in episodes]


def run_stale(
    episodes: Sequence[StaleEpisode],
    methods: Sequence[ReturnMethod],
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Each method's scores, and the samples behind them.

    Raises:
        InvalidValue: there is no episode, or a method admitted what it may not.
    """
    scores: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for method in methods:
        found: list[tuple[StaleEpisode, Probed]] = []
        for one in episodes:
            found.append((one, probe(method, one)))
            tell(method.name)
        scores[method.name] = {
            **_block([seen for _, seen in found]),
            "calls": sum(seen.calls for _, seen in found),
            "tokens": sum(seen.tokens for _, seen in found),
            "strata": _by(found, lambda one: one.stratum),
            "wordings": _by(found, lambda one: one.wording),
        }
        samples[method.name] = [
            [one.uid, *_passed(seen), seen.left_out, seen.calls, seen.tokens] for one, seen in found
        ]
    return {
        "methods": scores,
        "sample_columns": ["uid", "sr", "pr", "ipa", "left_out", "calls", "tokens"],
        "samples": samples,
    }


def run_declared(
    episodes: Sequence[StaleEpisode],
    methods: Sequence[ReturnMethod],
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The same where writers declared premises: how far rules alone reach."""
    ran = run_stale([declared(one) for one in episodes], methods, tell)
    reached = [one.premise is not None and one.premise.worth_after is not None for one in episodes]
    return {
        "declared": sum(one.premise is not None for one in episodes),
        "said_to_have_moved": sum(reached),
        "n": len(episodes),
        "methods": ran["methods"],
    }


def recalls(returns: Sequence[Opened]) -> list[dict[str, Any]]:
    """For each proposer, at each k: the share of broken beliefs whose breaking pair it names.

    The pairs are all that it names, for every item that is scanned, so all that a verifier would
    be asked about.
    """
    deepest = max(KS)
    named = {
        "shared slot": [_named(SharedEntity(deepest), one.scans) for one in returns],
        "bm25": [_named(Bm25(deepest), one.scans) for one in returns],
        "embedded": [_named(Embedded(deepest), one.scans) for one in returns],
    }
    rows = [
        _recall(returns, name, k, [_upto(found, k) for found in every])
        for name, every in named.items()
        for k in KS
    ]
    for k in KS:
        both = [
            {
                older: {*words.get(older, ())[:k], *meanings.get(older, ())[:k]}
                for older in words.keys() | meanings.keys()
            }
            for words, meanings in zip(named["bm25"], named["embedded"], strict=True)
        ]
        rows.append(_recall(returns, "union of bm25 and embedded", k, both))
    everything = [
        {scan.older.id: {item.id for item in scan.later} for scan in one.scans} for one in returns
    ]
    rows.append(_recall(returns, "all pairs", None, everything))
    by_rule = [
        {older: set(one.one.new) for older in one.one.old}
        if one.one.premise is not None and one.one.premise.worth_after is not None
        else dict[str, set[str]]()
        for one in returns
    ]
    # A rule compares what a premise is worth with what it was; nobody is asked.
    return [{**_recall(returns, "declared premise, by rule", None, by_rule), "pairs": 0}, *rows]


def ruled(
    returns: Sequence[Opened],
    verifier: PairJudge,
    proposers: Sequence[Proposer],
    *,
    most: int | None = None,
) -> dict[str, Any]:
    """What a verifier says about the pairs that proposers name, beside what is so.

    Args:
        returns: the episodes.
        verifier: who rules.
        proposers: who names.
        most: ask about at most so many of the breaking pairs and as many of the others; the first
            ones of the episodes in their order, each text pair once.
    """
    broken: dict[tuple[str, str], Question] = {}
    others: dict[tuple[str, str], Question] = {}
    for one in returns:
        offered = {
            (s.older.id, item.id): Question(s.older, item) for s in one.scans for item in s.later
        }
        for proposer in proposers:
            for older, names in _named(proposer, one.scans).items():
                for name in names:
                    question = offered[older, name]
                    true = older in one.one.old and name in one.one.new
                    where = broken if true else others
                    where.setdefault((question.older.text, question.later.text), question)
    asked_true = list(broken.values())[:most]
    asked_false = list(others.values())[:most]
    true_says = [_verdict(verifier, question) for question in asked_true]
    false_says = [_verdict(verifier, question) for question in asked_false]
    return {
        "verifier": verifier.name,
        "proposers": [proposer.name for proposer in proposers],
        "breaking_pairs": len(true_says),
        "found": _share(true_says, "invalidates"),
        "other_pairs": len(false_says),
        "false_invalidation": _share(false_says, "invalidates"),
        "unsure_or_failed": sum(
            says not in {"invalidates", "stands"} for says in (*true_says, *false_says)
        ),
    }


def _verdict(verifier: PairJudge, question: Question) -> str:
    try:
        return verifier.verify(question).verdict.value
    except LapseError as failure:
        return type(failure).__name__


def _share(says: Sequence[str], what: str) -> float | None:
    return percent(fmean(one == what for one in says)) if says else None


def _named(proposer: Proposer, scans: Sequence[Scan]) -> dict[str, tuple[str, ...]]:
    return {older: proposal.named for older, proposal in proposer.scan(scans).items()}


def _upto(found: Mapping[str, tuple[str, ...]], k: int) -> dict[str, set[str]]:
    return {older: set(names[:k]) for older, names in found.items()}


def _recall(
    returns: Sequence[Opened], name: str, k: int | None, every: Sequence[Mapping[str, set[str]]]
) -> dict[str, Any]:
    hits = [
        any(found.get(older, set()) & one.one.new for older in one.one.old)
        for one, found in zip(returns, every, strict=True)
    ]
    wordings: dict[str, list[bool]] = {}
    for one, hit in zip(returns, hits, strict=True):
        wordings.setdefault(one.one.wording, []).append(hit)
    return {
        "proposer": name,
        "k": k,
        "recall": percent(fmean(hits)),
        "by_wording": {wording: percent(fmean(some)) for wording, some in wordings.items()},
        "pairs": sum(len(names) for found in every for names in found.values()),
    }


def _block(found: Sequence[Probed]) -> dict[str, Any]:
    block = stale_scores([seen.probes for seen in found])
    return {
        "n": block.n,
        "via": percent(block.via),
        "iir": percent(block.iir),
        "overall": percent(block.overall),
        "sr": percent(block.sr),
        "pr": percent(block.pr),
        "ipa": percent(block.ipa),
        "ls": percent(block.ls),
        "left_out": percent(
            sum(seen.left_out for seen in found) / max(1, sum(seen.others for seen in found))
        ),
    }


def _by(
    found: Sequence[tuple[StaleEpisode, Probed]], which: Callable[[StaleEpisode], str]
) -> dict[str, Any]:
    groups: dict[str, list[Probed]] = {}
    for one, seen in found:
        groups.setdefault(which(one), []).append(seen)
    return {name: _block(some) for name, some in groups.items()}


def _passed(seen: Probed) -> list[int]:
    probes = seen.probes
    return [int(probes.resolved), int(probes.resisted), int(probes.adapted)]
