"""``lapse-bench run pairs``: recall of proposers, and of one judge what it makes of the pairs."""

from __future__ import annotations

from enum import StrEnum
from os import environ
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr

from lapse_bench.options import BaseUrl, Form, Format, Out
from lapse_bench.provenance import gathered
from lapse_bench.returns.writing import finish, now, progress, split, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.runtime import PairJudge, Proposer
    from lapse_bench.returns.pairs import Pairs

__all__ = ["run_pairs"]

_WORDINGS = ("cued", "plain")


class Per(StrEnum):
    """For each of what pairs are named."""

    ITEM = "item"
    EVENT = "event"


_NOTES = (
    "Twenty hand-written beliefs with changes, near misses and small talk; no score on STALE.",
    "calls: how many pairs a verifier would be asked about, of 940.",
)


def run_pairs(
    most: Annotated[
        str, typer.Option("--most", help="How many pairs are named for each; with commas.")
    ] = "1,2,4,8,16",
    per: Annotated[
        Per, typer.Option("--per", help="For each of what: the earlier item or the later event.")
    ] = Per.ITEM,
    judge: Annotated[
        str,
        typer.Option("--judge", help="none, local, openai:MODEL or anthropic:MODEL."),
    ] = "none",
    cued: Annotated[  # noqa: FBT002 - an option
        bool, typer.Option("--cues", help="List the kinds of change that the cued wordings name.")
    ] = False,
    base_url: BaseUrl = "",
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Which plausible pairs do proposers find, and what does a judge say about pairs?"""
    from lapse_bench.returns.pairs import pairs_of, recalled  # noqa: PLC0415 - cheap start

    counts = [whole("most", one) for one in split(most)]
    sets = {wording: pairs_of(wording) for wording in _WORDINGS}
    methods: dict[str, Any] = {}
    for wording, pairs in sets.items():
        for proposer in _proposers(counts, per):
            methods[f"{wording}: {proposer.name}"] = recalled(pairs, proposer)
    result: dict[str, Any] = {
        "benchmark": "pairs",
        "config": {"most": counts, "per": per.value, "judge": judge, "cues": cued, "seed": 0},
        **gathered(date=now()).as_json(),
        "notes": list(_NOTES),
        "methods": methods,
        "problems": [],
    }
    columns = ("found", "of", "calls", "all_pairs")
    if judge != "none":
        result |= _judged(sets, judge, cued=cued, base_url=base_url)
        columns = (*columns, "breaks_seen", "false_invalidations", "balanced")
        methods |= result.pop("judged")
    finish(result, columns, form, out)


def _proposers(counts: list[int], per: Per) -> Iterator[Proposer]:
    from lapse.judges import AllPairs, Bm25, Embedded, Union  # noqa: PLC0415 - cheap start

    for most in counts:
        words, meaning = Bm25(most, per.value), Embedded(most, per.value)
        yield from (words, meaning, Union((words, meaning)))
    yield AllPairs()


def _judged(sets: dict[str, Pairs], name: str, *, cued: bool, base_url: str) -> dict[str, Any]:
    from lapse.judges import JudgeSettings, judge_named  # noqa: PLC0415 - cheap start
    from lapse_bench.returns.stale_shaped import CUES  # noqa: PLC0415

    variable = f"{name.partition(':')[0].upper()}_API_KEY"
    key = environ.get(variable)
    settings = JudgeSettings(
        key=SecretStr(key) if key else None,
        base_url=base_url or None,
        cues=tuple(sorted(CUES)) if cued else (),
    )
    with judge_named(name, settings) as judge, progress() as bar:
        task = bar.add_task(name, total=sum(2 * len(one.broken) for one in sets.values()))
        return _told(sets, judge, lambda: bar.advance(task))


def _told(sets: dict[str, Pairs], judge: PairJudge, advance: Any) -> dict[str, Any]:
    from lapse_bench.returns.pairs import figures, tried  # noqa: PLC0415 - cheap start

    said = {name: tried(pairs, judge, lambda _: advance()) for name, pairs in sets.items()}
    return {
        "judge": judge.name,
        "judged": {f"{wording}: judge": figures(some) for wording, some in said.items()},
        "sample_columns": ["wording", "older", "later", "broken", "verdict", "failure"],
        "samples": [
            [wording, *one.pair, one.broken, one.verdict, one.failure]
            for wording, some in said.items()
            for one in some
        ],
    }
