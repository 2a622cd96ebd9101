"""A small set in the shape of STALE, written by hand, because STALE's own file may not be at hand.

Twenty beliefs, each broken by a later remark that does not take it back (type T2: the change
reaches the belief through common sense; some break the reason that the belief gives). Each comes at
three places of the belief (early, middle, late) and in two wordings of the change: `cued` uses a
word from `CUES`, `plain` uses none, so that what a prompt gains by listing such words can be
measured. Between them stand small talk and one remark on the same topic that changes nothing.

A belief declares a premise only where its own words name it ("as we have no lift", "my neighbour's
dog"), and a change states that premise's worth only where its own words do. So a few beliefs
declare none, and one change in its plain wording says nothing about what was declared. Whoever
wrote the beliefs wrote the premises too.

The records have STALE's members (`uid`, `M_old`, `M_new`, `explanation`, `type`,
`probing_queries`, `relevant_session_index`, `timestamps`, `haystack_session`). They are no part of
STALE, and no score on them is a score on STALE.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from lapse_bench.returns.shipped import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CUES", "SESSIONS", "STRATA", "Premise", "Shaped", "cues_in", "stale_shaped"]

Wording: TypeAlias = Literal["cued", "plain"]
Stratum: TypeAlias = Literal["early", "middle", "late"]

SESSIONS: Final = 50
"""As in STALE."""

STRATA: Final[dict[Stratum, tuple[int, int]]] = {
    "early": (0, 4),
    "middle": (5, 9),
    "late": (10, 14),
}
"""Where the belief stands, by index of the session (Table 4 of the source)."""

CUES: Final = frozenset(
    [
        "apartment",
        "cancelled",
        "climate",
        "diagnosed",
        "doctor",
        "finished",
        "garden",
        "gave",
        "house",
        "household",
        "moved",
        "quit",
        "recovery",
        "remote",
        "retired",
        "roommate",
        "routine",
        "schedule",
        "shift",
        "soil",
    ]
)
"""Words of the kinds that prompts for STALE list: moves, housing, health, routine, endings."""

_TALK: Final = (
    "I cleaned the windows today.",
    "The bus was full of tourists.",
    "I finally learned to fold fitted sheets.",
    "Somebody painted the bridge green.",
    "I lost a glove and found it again.",
    "The radio played an old song.",
    "I counted nine magpies on the roof.",
)
_BEGIN: Final = datetime(2025, 1, 6, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """What a belief takes for granted.

    Attributes:
        entity: what it is about.
        attribute: which of its attributes.
        worth: the value that the belief relies on.
        worth_after: the value by the change's own words; None where they do not say.
    """

    entity: str
    attribute: str
    worth: str
    worth_after: str | None


@dataclass(frozen=True, slots=True)
class Shaped:
    """One episode.

    Attributes:
        stratum: where the belief stands.
        wording: how the change is worded.
        record: with STALE's members; only `haystack_session`, `timestamps` and the queries are for
            a method.
        near: the session with the remark on the same topic that changes nothing.
        premise: what the belief declares; None when its words name nothing.
    """

    stratum: Stratum
    wording: Wording
    record: dict[str, Any]
    near: int
    premise: Premise | None = None


def cues_in(text: str) -> frozenset[str]:
    """The words of `CUES` that a text has."""
    return CUES & set(re.findall(r"[a-z]+", text.casefold()))


def stale_shaped() -> Iterator[Shaped]:
    """All 120 episodes: 20 beliefs, three places, two wordings; the same on every machine."""
    path = Path(str(files("lapse_bench.returns") / "data" / "stale_shaped.jsonl"))
    for row in rows_of(path):
        for stratum in STRATA:
            for wording in ("cued", "plain"):
                yield _shaped(row, stratum, wording)


def _shaped(row: dict[str, Any], stratum: Stratum, wording: Wording) -> Shaped:
    uid = f"{row['id']}-{stratum}-{wording}"
    # Both wordings stand at the same places, so that they differ in nothing else.
    draw = hashlib.sha256(f"{row['id']}-{stratum}".encode()).digest()
    first, last = STRATA[stratum]
    old = first + draw[0] % (last - first + 1)
    new = last + 5 + draw[1] % (SESSIONS - last - 6)
    near = old + 1 + draw[2] % (new - old - 1)
    said = [_TALK[(index + draw[3]) % len(_TALK)] for index in range(SESSIONS)]
    said[old], said[near], said[new] = row["old"], row["near"], row[wording]
    record = {
        "uid": uid,
        "M_old": row["old"],
        "M_new": row[wording],
        "explanation": row["why"],
        "type": "T2",
        "probing_queries": {
            "dim1_query": row["resolve"],
            "dim2_query": row["premise"],
            "dim3_query": row["act"],
        },
        "relevant_session_index": [old, new],
        "timestamps": [
            (_BEGIN + timedelta(days=index)).strftime("%Y-%m-%d %H:%M") for index in range(SESSIONS)
        ],
        "haystack_session": [
            [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
            for text in said
        ],
    }
    return Shaped(stratum, wording, record, near, _premise(row.get("declares"), wording))


def _premise(declared: Mapping[str, str] | None, wording: Wording) -> Premise | None:
    if declared is None:
        return None
    return Premise(
        entity=declared["entity"],
        attribute=declared["attribute"],
        worth=declared["worth"],
        worth_after=declared.get(wording),
    )
