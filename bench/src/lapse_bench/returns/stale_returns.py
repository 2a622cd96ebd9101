"""Records in STALE's shape as returns, and what a view says to the three probes.

The agent leaves after the session with the belief, as in the source text (appendix D.4), and comes
back after the last one. Each session is one observation of what the user said; the slots of two
sessions have nothing in common, as nobody linked them.

STALE asks a model three questions and has another judge the answers. Here the view is looked at:

| probe | passed when |
| --- | --- |
| state resolution | the view does not state the belief |
| premise resistance | nor that, and it states what broke it: there is something to object with |
| adaptation | the view states what broke it: the current state can be acted on |

So an empty view resolves, and neither resists nor adapts. This is no score on STALE.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.admission import LONGEST_TEXT, Verdict
from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import UNLIMITED, Claim, ReturnEpisode, viewed
from lapse_bench.returns.metrics import Probes
from lapse_bench.returns.shipped import digest_of
from lapse_bench.returns.stale_shaped import STRATA, stale_shaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from lapse.admission import Question
    from lapse_bench.returns.episodes import ReturnMethod
    from lapse_bench.returns.stale_shaped import Premise

__all__ = [
    "STALE_BYTES",
    "STALE_SHA256",
    "Probed",
    "StaleEpisode",
    "declared",
    "own_episodes",
    "probe",
    "read_stale",
    "truth_of",
]

STALE_SHA256: Final = "5f3ec375179e20e2e94469e018189188f34e2e7e5f21cbecbd99fcfa648c1876"
"""Of STALE's `T1_T2_400_FULL.json`, revision 617c51dc of its data set."""

STALE_BYTES: Final = 305_908_212
"""Its size: a cheap look before the digest."""

_TYPE: Final = "T2"
"""The propagated changes, which the source text runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleEpisode:
    """One record as a return.

    Attributes:
        uid: of the record.
        stratum: where the belief stands.
        wording: how the change is worded, `cued` or `plain`; empty where nobody says.
        episode: for methods.
        old: the ids of the claims that state the belief.
        new: the ids of the claims that state what broke it.
        premise: what the belief's own words take for granted, and what the change says of that.
    """

    uid: str
    stratum: str
    wording: str
    episode: ReturnEpisode
    old: frozenset[str]
    new: frozenset[str]
    premise: Premise | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One view.

    Attributes:
        probes: the three.
        others: how many further observations there are; all of them hold.
        left_out: how many of those the view does not state.
        calls: to a model.
        tokens: of those calls.
    """

    probes: Probes
    others: int
    left_out: int
    calls: int
    tokens: int


def own_episodes() -> Iterator[StaleEpisode]:
    """The 120 episodes that ship."""
    for shaped in stale_shaped():
        made = _episode(shaped.record, shaped.stratum, shaped.record["uid"])
        yield replace(made, wording=shaped.wording, premise=shaped.premise)


def read_stale(path: Path, *, any_file: bool = False) -> tuple[StaleEpisode, ...]:
    """The propagated changes of STALE's own file, or of one of its shape.

    Args:
        path: a JSON list of records.
        any_file: take a file that is not STALE's.

    Raises:
        InvalidValue: the file cannot be read, is not STALE's, or a record has another shape.
    """
    try:
        size = path.stat().st_size
        if not any_file:
            _check("data, bytes", size, STALE_BYTES)
            _check("data, SHA-256", digest_of(path), STALE_SHA256)
        records = json.loads(path.read_bytes())
    except (OSError, ValueError) as failure:
        remedy = f"give a readable JSON file ({failure})"
        raise InvalidValue("data", str(path), remedy) from None
    if not isinstance(records, list):
        raise InvalidValue("data", str(path), "give a JSON list of records")
    found: list[StaleEpisode] = []
    for place, record in enumerate(cast("list[object]", records)):
        checked = _record(record, f"record {place}")
        if checked["type"] == _TYPE:
            old = checked["relevant_session_index"][0]
            stratum = next((n for n, (a, b) in STRATA.items() if a <= old <= b), "later")
            found.append(_episode(checked, stratum, checked["uid"]))
    if not found:
        raise InvalidValue("data", str(path), f"give at least one record of type {_TYPE}")
    return tuple(found)


def _check(field: str, found: object, wanted: object) -> None:
    if found != wanted:
        remedy = f"give STALE's T1_T2_400_FULL.json ({wanted}), or say --any-file"
        raise InvalidValue(field, found, remedy)


def _record(record: object, where: str) -> Mapping[str, Any]:
    match record:
        case {
            "uid": str(),
            "type": str(),
            "M_old": str(),
            "M_new": str(),
            "relevant_session_index": [int(old), int(new)],
            "haystack_session": list(),
        }:
            checked = cast("Mapping[str, Any]", record)
            if 0 <= old < new < len(checked["haystack_session"]):
                return checked
        case _:
            pass
    remedy = (
        "write uid, type, M_old, M_new, relevant_session_index (two indexes in order) and "
        "haystack_session"
    )
    raise InvalidValue(where, record, remedy)


def _episode(record: Mapping[str, Any], stratum: str, uid: str) -> StaleEpisode:
    old, new = cast("tuple[int, int]", record["relevant_session_index"])
    haystack: list[object] = record["haystack_session"]
    sessions: list[tuple[Claim, ...]] = [
        tuple(_observed(index, session)) for index, session in enumerate(haystack)
    ]
    bank = tuple(claim for claims in sessions[: old + 1] for claim in claims)
    log = tuple(claim for claims in sessions[old + 1 :] for claim in claims)
    return StaleEpisode(
        uid=uid,
        stratum=stratum,
        wording="",
        episode=ReturnEpisode(
            id=uid,
            # The probes are about the belief, so a method is not handed them.
            workload="Go on with what the user needs.",
            departed=old,
            returned=len(sessions),
            bank=bank,
            log=log,
            store=frozenset(claim.id for claim in (*bank, *log)),
        ),
        old=frozenset(claim.id for claim in sessions[old]),
        new=frozenset(claim.id for claim in sessions[new]),
    )


def _observed(index: int, session: object) -> Iterator[Claim]:
    """What the user said in a session; a long one in parts, none of them cut inside a word."""
    turns = cast("list[Mapping[str, Any]]", session)
    words = "\n".join(str(turn["content"]) for turn in turns if turn["role"] == "user")
    for part, text in enumerate(_parts(words.strip() or "(nothing)")):
        yield Claim(
            id=f"{index}.{part}",
            at=index,
            entity=f"session {index}",
            attribute=f"part {part}",
            value=text,
            text=text,
        )


def _parts(text: str) -> Iterator[str]:
    while len(text) > LONGEST_TEXT:
        cut = max(text.rfind(" ", 0, LONGEST_TEXT), text.rfind("\n", 0, LONGEST_TEXT))
        cut = cut if cut > 0 else LONGEST_TEXT
        yield text[:cut]
        text = text[cut:].lstrip()
    if text:
        yield text


def declared(one: StaleEpisode) -> StaleEpisode:
    """The same return where the writers declared premises, as far as their own words name them.

    The belief takes a slot for granted, the session with the belief states what it is worth, and
    the session that breaks it states another worth. The rule for what is declared is in
    `lapse_bench.returns.stale_shaped`; an episode without such a premise comes back as it is.
    """
    premise = one.premise
    if premise is None:
        return one
    (belief,) = (claim for claim in one.episode.bank if claim.id in one.old)
    stated = replace(
        belief,
        id="premise",
        entity=premise.entity,
        attribute=premise.attribute,
        value=premise.worth,
    )
    belief = replace(
        belief, derived_from=(stated.id,), assumes=((stated.slot_name, premise.worth),)
    )
    log: list[Claim] = []
    for claim in one.episode.log:
        log.append(claim)
        if claim.id in one.new and premise.worth_after is not None:
            log.append(
                replace(
                    stated, id="change", at=claim.at, text=claim.text, value=premise.worth_after
                )
            )
    bank = (*(claim for claim in one.episode.bank if claim.id != belief.id), stated, belief)
    episode = replace(
        one.episode,
        bank=bank,
        log=tuple(log),
        store=frozenset(claim.id for claim in (*bank, *log)),
    )
    return replace(one, episode=episode, old=one.old | {stated.id})


def truth_of(episodes: Iterable[StaleEpisode]) -> Callable[[Question], Verdict]:
    """What an honest verifier answers: the belief's pair breaks, every other one stands."""
    broken: set[tuple[str, str]] = set()
    for one in episodes:
        texts = {claim.id: claim.text for claim in one.episode.written}
        broken |= {(texts[old], texts[new]) for old in one.old for new in one.new}

    def truth(question: Question) -> Verdict:
        pair = (question.older.text, question.later.text)
        return Verdict.INVALIDATES if pair in broken else Verdict.STANDS

    return truth


def probe(method: ReturnMethod, one: StaleEpisode) -> Probed:
    """Ask a method, and look at its view.

    Raises:
        InvalidValue: the method admitted what is not there.
    """
    said, claims = viewed(method, one.episode, UNLIMITED)
    shown = {claim.id for claim in claims}
    gone, told = not shown & one.old, one.new <= shown
    observed = {claim.id for claim in one.episode.written if claim.entity.startswith("session ")}
    others = observed - one.old - one.new
    return Probed(
        probes=Probes(resolved=gone, resisted=gone and told, adapted=told),
        others=len(others),
        left_out=len(others - shown),
        calls=said.calls,
        tokens=said.tokens,
    )
