"""What is done on every call: look a fix up, and see that nothing has moved."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from cachetools import TTLCache

from lapse_bench.speed.memories import filled, memory_over
from lapse_bench.speed.pairs import Pair
from lapse_bench.speed.records import ISSUER, TABLES, slot

if TYPE_CHECKING:
    from lapse.runtime import Memory

__all__ = ["unchanged_envelope", "validated_get"]

_HELD = 100_000
_CALLS = 20_000
_ENVELOPES = 5_000
_HOUR = 3600.0


def validated_get(*, seed: int, unsettled: bool = False) -> Pair:
    """A slot looked up and its two stamps checked, against a cache with a time limit.

    Args:
        seed: draws the slots that are asked for.
        unsettled: whether a table elsewhere waits to be reconciled, so that every stamp is walked.
    """
    memory = memory_over(filled(_HELD, unsettled=unsettled))
    cache = TTLCache[str, object, float](maxsize=_HELD, ttl=_HOUR)
    for index in range(_HELD):
        cache[slot(index)] = memory.get(ISSUER, slot(index))
    asked = [slot(random.Random(seed + index).randrange(_HELD)) for index in range(_CALLS)]

    def ours() -> None:
        get = memory.get
        for key in asked:
            get(ISSUER, key)

    def theirs() -> None:
        get = cache.get
        for key in asked:
            get(key)

    if any(memory.get(ISSUER, key) is None for key in asked):
        raise AssertionError("a record that holds was not served")
    return Pair(
        name="validated_get_unsettled" if unsettled else "validated_get",
        ours=ours,
        theirs=theirs,
        calls=_CALLS,
        turns=31,
        goal=1.5,
        ours_does=f"Memory.get: one of {_HELD:,} slots, then status and a two-stamp vector (row, "
        f"rules); {'another table waits' if unsettled else 'nothing waits'} to be reconciled",
        theirs_does=f"cachetools.TTLCache.get: the same {_HELD:,} keys in the same order, one "
        "hour to live",
    )


def unchanged_envelope() -> Pair:
    """An envelope that says what the last one said, against the comparison this takes at least."""
    memory = memory_over(filled(TABLES * 10))
    first = {f"table_{number}": "1.0.0" for number in range(TABLES)}
    # Fresh strings each, as a parser makes them: equal, and not the same objects.
    arrived = [
        {_fresh(name): _fresh(version) for name, version in first.items()} for _ in range(50)
    ]
    rules = "ec524f499ebe"
    _take(memory, first, rules)
    if not memory.unchanged(ISSUER, arrived[0], rules):
        raise AssertionError("an equal envelope was not recognised")
    rounds = _ENVELOPES // len(arrived)

    def ours() -> None:
        unchanged = memory.unchanged
        for _ in range(rounds):
            for envelope in arrived:
                unchanged(ISSUER, envelope, rules)

    def theirs() -> None:
        for _ in range(rounds):
            for envelope in arrived:
                _ = first == envelope

    return Pair(
        name="unchanged_envelope",
        ours=ours,
        theirs=theirs,
        calls=_ENVELOPES,
        turns=31,
        goal=3.0,
        ours_does=f"Memory.unchanged: {TABLES} table versions and the rules' version; no store is "
        "read",
        theirs_does=f"dict == dict over the same {TABLES} tables",
    )


def _fresh(text: str) -> str:
    return "".join(list(text))


def _take(memory: Memory, versions: dict[str, str], rules: str) -> None:
    from lapse.contract import Envelope, Lesson  # noqa: PLC0415

    envelope = Envelope(success=True, table_versions=versions, rules_version=rules)
    lesson = Lesson(
        issuer=ISSUER, operation="GET /", request=None, envelope=envelope, at=memory.now
    )
    for _ in memory.receive(lesson):
        raise AssertionError("nothing moved, so nothing should be asked")
