"""Every ratio in one run, with its goal, its medians and the file of its samples."""

from __future__ import annotations

import gc
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import InvalidValue
from lapse_bench.speed import cascades, evictions, lookups, puts, throughput
from lapse_bench.speed.held import held_per_record
from lapse_bench.speed.memories import filled
from lapse_bench.speed.pairs import GC_POLICY, WARM_UP, Measured, Pair, measured

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from lapse_bench.provenance import Provenance

__all__ = ["RATIOS", "run_speed"]

RATIOS: Final = (
    "validated_get",
    "unchanged_envelope",
    "row_eviction",
    "durable_put",
    "cascade_full",
    "cascade_small",
    "middleware_throughput",
    "signed_throughput",
)
"""The ratios that have goals; others beside them say what lies around the measured path."""

_BESIDE: Final = (
    "validated_get_unsettled",
    "row_eviction_swept",
    "row_eviction_with_entry",
    "durable_learn",
)
_THROUGHPUTS: Final = {
    "middleware_throughput": throughput.GOAL,
    "signed_throughput": throughput.SIGNED_GOAL,
}
_MEMORY: Final = "memory"


def run_speed(
    folder: Path,
    *,
    records: int,
    nodes: int,
    seed: int,
    only: Sequence[str],
    provenance: Provenance,
    tell: Callable[[str], None] = lambda _name: None,
) -> dict[str, Any]:
    """Measure, and keep the samples in a folder.

    Args:
        folder: where the samples go; made if it is not there.
        records: how many records for eviction and memory.
        nodes: how many nodes for the cascades.
        seed: draws keys and graphs.
        only: which to measure; all of them when empty.
        provenance: where this runs.
        tell: called with the name of what is measured next.

    Raises:
        InvalidValue: `only` names something that is not measured.
    """
    known = (*RATIOS, *_BESIDE, _MEMORY)
    for name in only:
        if name not in known:
            raise InvalidValue("only", name, f"name some of {', '.join(known)}")
    wanted = frozenset(only or known)
    folder.mkdir(parents=True, exist_ok=True)
    ratios: dict[str, Any] = {}
    for found in _measured(wanted, records=records, nodes=nodes, seed=seed, tell=tell):
        members = found.as_json(samples=found.keep(folder))
        if found.pair.name in _THROUGHPUTS:
            members = throughput.throughput_members(members, goal=_THROUGHPUTS[found.pair.name])
        ratios[found.pair.name] = members
        gc.collect()
    memory: dict[str, Any] = {}
    if _MEMORY in wanted:
        tell(_MEMORY)
        memory = held_per_record(records)
    with_goals = {name: ratios[name] for name in RATIOS if name in ratios}
    return {
        "benchmark": "speed",
        "config": {
            "seed": seed,
            "records": records,
            "nodes": nodes,
            "collector": GC_POLICY,
            "warm_up_turns": WARM_UP,
            "order": "ours, theirs, ours, theirs, in one process",
        },
        **provenance.as_json(),
        "ratios": with_goals,
        "beside": {name: ratios[name] for name in _BESIDE if name in ratios},
        "memory_per_record": memory,
        "problems": list(_missed(with_goals, memory)),
    }


def _measured(
    wanted: frozenset[str], *, records: int, nodes: int, seed: int, tell: Callable[[str], None]
) -> Iterator[Measured]:
    pairs: dict[str, Callable[[Path], AbstractContextManager[Pair]]] = {
        "validated_get": lambda _: _plain(partial(lookups.validated_get, seed=seed)),
        "validated_get_unsettled": lambda _: _plain(
            partial(lookups.validated_get, seed=seed, unsettled=True)
        ),
        "unchanged_envelope": lambda _: _plain(lookups.unchanged_envelope),
        "durable_put": lambda place: _plain(partial(puts.durable_put, place)),
        "durable_learn": lambda place: _plain(partial(puts.durable_learn, place)),
        "middleware_throughput": lambda _: throughput.middleware_throughput(),
        "signed_throughput": lambda _: throughput.signed_throughput(),
    }
    with tempfile.TemporaryDirectory(prefix="lapse-bench-") as place:
        for name, pair in pairs.items():
            if name in wanted:
                tell(name)
                with pair(Path(place)) as made:
                    yield measured(made)
    yield from _over_records(wanted, records, tell)
    yield from _over_graph(wanted, nodes, seed, tell)


@contextmanager
def _plain(make: Callable[[], Pair]) -> Generator[Pair]:
    yield make()


def _over_records(
    wanted: frozenset[str], records: int, tell: Callable[[str], None]
) -> Iterator[Measured]:
    named = {
        "row_eviction": evictions.row_eviction,
        "row_eviction_swept": evictions.row_eviction_swept,
        "row_eviction_with_entry": evictions.row_eviction_with_entry,
    }
    if not wanted & named.keys():
        return
    tell(f"{records:,} records")
    state = filled(records)
    bare = evictions.Bare.of(state)
    for name, make in named.items():
        if name in wanted:
            tell(name)
            yield measured(make(state, bare))


def _over_graph(
    wanted: frozenset[str], nodes: int, seed: int, tell: Callable[[str], None]
) -> Iterator[Measured]:
    if not wanted & {"cascade_full", "cascade_small"}:
        return
    tell(f"a graph of {nodes:,} nodes")
    graph = cascades.drawn(nodes=nodes, seed=seed)
    if "cascade_full" in wanted:
        tell("cascade_full")
        yield measured(cascades.cascade_full(graph))
    if "cascade_small" in wanted:
        tell("cascade_small")
        yield measured(cascades.cascade_small(graph, seed=seed))


def _missed(ratios: Mapping[str, Any], memory: Mapping[str, Any]) -> Iterator[str]:
    for name, found in ratios.items():
        if not found["met"]:
            yield f"{name}: {found['ratio']}, where {found['goal_is']} {found['goal']} is the goal"
    if memory.get("met") is False:
        yield (
            f"memory: {memory['bytes_beyond_content']} bytes a record beyond its content, where "
            f"{memory['goal_is']} {memory['goal']} is the goal"
        )
