"""One size of workspace, timed; run as a program of its own, so that its memory is its own.

Each turn is one sample: milliseconds by the wall clock, and of the process's own time, which other
work on the machine lengthens less. The collector runs before a turn and is off during it.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import (
    Blocked,
    Captured,
    Checkpoint,
    Readmission,
    Sealed,
    Verdict,
    admit,
    further,
)
from lapse.signing import HmacKeys
from lapse_bench.speed.admission_drawn import (
    POLICY,
    drawn_items,
    drawn_return,
    drawn_workspace,
    some_changes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lapse.admission import Delta, Returning
    from lapse_bench.speed.admission_drawn import Drawn

__all__ = ["Sample", "readmitted", "weighed"]

Sample = tuple[float, float]
"""Milliseconds by the wall clock, and of the process's time."""

_KEYS: Final = HmacKeys({"speed": b"a key of thirty-two bytes or more"}, sign_with="speed")


def weighed(size: int, *, seed: int, turns: int) -> dict[str, Any]:
    """Gates and selection over so many candidates, and the memory of what they hold.

    Args:
        size: how many items.
        seed: draws the workspace.
        turns: how many samples.
    """
    before = _resident()
    items = tuple(sorted(drawn_items(size, seed=seed), key=lambda item: item.id))
    held = _resident() - before
    back = drawn_return()
    checkpoint = Checkpoint(returning=back, departure="", departed=back.epoch, items=items)
    judged = Captured(checkpoint, POLICY).next().next({}, {})
    before = _resident()
    gates = [_timed(judged.next) for _ in range(turns)]
    eligible = judged.next()
    grown = _resident() - before
    selection = [_timed(eligible.next) for _ in range(turns)]
    passing = sum(judgement.eligible for judgement in eligible.judgements)
    return {
        "items": size,
        "eligible": passing,
        "gates_ms": gates,
        "selection_ms": selection,
        "together_ms": round(_cpu(gates) + _cpu(selection), 1),
        "bytes_an_item": round(held / size),
        "bytes_a_judgement": round(grown / size),
    }


def readmitted(size: int, *, seed: int, turns: int, came: int) -> dict[str, Any]:
    """A return after ten changes, decided again and decided from the start, turn by turn.

    The digests of items are known to both, and neither has to find out what changed: from the
    start, a checkpoint is made of the items; again, a delta is given. Every question is answered.

    Args:
        size: how many items.
        seed: draws the workspace and the changes.
        turns: how many samples.
        came: how many of the ten changes are new items, of which each could break what was before.
    """
    drawn = drawn_workspace(size, seed=seed)
    chance = random.Random(f"changes {seed} {came}")
    again = Readmission(drawn.checkpoint, POLICY)
    again.look({scan.older.id: () for scan in again.scans()})
    again.next(_KEYS)
    now = {item.id: item for item in drawn.items}
    ours: list[Sample] = []
    theirs: list[Sample] = []
    for turn in range(turns):
        was = again.checkpoint.returning
        back = replace(was, cycle=f"r{turn}", epoch=was.epoch + 1, at=was.at + 1)
        now = some_changes(now, chance, epoch=back.epoch, came=came)
        delta = further(again.checkpoint, now.values(), epoch=back.epoch)
        outcome: list[Sealed | Blocked] = []

        def run(
            delta: Delta = delta,
            back: Returning = back,
            outcome: list[Sealed | Blocked] = outcome,
        ) -> None:
            again.take(delta, back)
            again.sweep({item.id: () for item in again.came()})
            again.look({scan.older.id: () for scan in again.scans()})
            again.answer({question.pair: Verdict.STANDS for question in again.questions()})
            outcome.append(again.next(_KEYS))

        ours.append(_timed(run))
        scanned = dict(again.scanned)
        whole: list[Sealed | Blocked] = []
        checkpoint = again.checkpoint
        theirs.append(_timed(lambda w=whole, c=checkpoint, s=scanned: w.append(_whole(c, s))))
        if whole != outcome:
            raise AssertionError("deciding again gives what deciding from the start gives")
    return {
        "items": size,
        "changes": 10,
        "came": came,
        "sealed": isinstance(again.next(_KEYS), Sealed),
        "again_ms": ours,
        "from_the_start_ms": theirs,
        "ratio": round(_cpu(theirs) / _cpu(ours), 1),
        "digests": _digests(drawn, chance, turns=turns),
    }


def _whole(checkpoint: Checkpoint, scanned: Mapping[str, object]) -> Sealed | Blocked:
    made = Checkpoint(
        returning=checkpoint.returning,
        departure=checkpoint.departure,
        departed=checkpoint.departed,
        items=checkpoint.items,
    )
    return admit(made, POLICY, scanned=scanned, answers={}, signer=_KEYS)


def _digests(drawn: Drawn, chance: random.Random, *, turns: int) -> dict[str, Any]:
    """The digest of a checkpoint: for the first time, over known items, and after ten changes."""
    checkpoint = drawn.checkpoint
    first = [
        _timed(replace(checkpoint, items=tuple(replace(item) for item in drawn.items)).digest)
        for _ in range(3)
    ]
    known: list[Sample] = []
    after: list[Sample] = []
    by_id = {item.id: item for item in drawn.items}
    root = checkpoint.root
    for turn in range(turns):
        known.append(_timed(replace(checkpoint).digest))
        now = some_changes(by_id, chance, epoch=2000 + turn, came=2)
        less = [item for name, item in by_id.items() if now[name] is not item]
        more = [item for name, item in now.items() if by_id.get(name) is not item]
        after.append(_timed(lambda less=less, more=more: root.changed(less=less, more=more).hex()))
    return {
        "first_ms": first,
        "known_items_ms": known,
        "after_ten_changes_ms": after,
    }


def _timed(run: Callable[[], object]) -> Sample:
    """Milliseconds by the wall clock, and of this process's time."""
    gc.collect()
    gc.freeze()
    gc.disable()
    wall, cpu = perf_counter_ns(), process_time_ns()
    run()
    cpu, wall = process_time_ns() - cpu, perf_counter_ns() - wall
    gc.enable()
    gc.unfreeze()
    return round(wall / 1e6, 4), round(cpu / 1e6, 4)


def _cpu(samples: Sequence[Sample]) -> float:
    return median(cpu for _, cpu in samples)


def _resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def _main(arguments: Sequence[str]) -> None:
    what, size, seed, turns, came = arguments[0], *map(int, arguments[1:])
    if what == "weighed":
        found = weighed(size, seed=seed, turns=turns)
    else:
        found = readmitted(size, seed=seed, turns=turns, came=came)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    _main(sys.argv[1:])
