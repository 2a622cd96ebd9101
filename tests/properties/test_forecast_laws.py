"""The laws of foresight, whatever was seen: it may doubt and propose, and nothing else."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapse.contract
from lapse.contract import (
    DAY,
    CoDrift,
    Drift,
    Forecast,
    Look,
    Outlook,
    Prefetch,
    Prices,
    Rates,
    Rhythm,
    forecast,
)
from lapse.ledger import ChangeKind, Source, Status
from lapse.runtime import Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, Scribe, SequenceIds, sample

KEYS = ("a", "b", "c")
TABLES = tuple(Source.table("api", name) for name in ("codes", "plans"))


@st.composite
def drifts(draw: st.DrawFn) -> tuple[Drift, list[Look]]:
    """Looks at two tables, exact or with gaps, and the drift that saw them."""
    drift, seen, at = Drift(), list[Look](), 0
    for table in TABLES:
        seen.append(Look(table, 0, watched=KEYS))
    for _ in range(draw(st.integers(0, 12))):
        at += draw(st.integers(0, 40 * DAY))
        moved = draw(st.booleans())
        rows = draw(st.one_of(st.none(), st.sets(st.sampled_from(KEYS)))) if moved else set[str]()
        exact = draw(st.booleans())
        seen.append(
            Look(
                draw(st.sampled_from(TABLES)),
                at,
                moved=moved,
                rows=None if rows is None else tuple(sorted(rows)),
                since=at if exact else None,
                gone=tuple(draw(st.sets(st.sampled_from(KEYS), max_size=1))),
            )
        )
    for look in seen:
        drift.look(look)
    return drift, seen


spans = st.integers(0, 400 * DAY)


@given(drifts(), spans, spans)
def test_chances_are_chances_and_grow_with_the_horizon(
    drawn: tuple[Drift, list[Look]], first: int, second: int
) -> None:
    drift, _ = drawn
    outlook = Outlook(drift, drift.latest())
    short, long = sorted((first, second))
    for source in drift.sources:
        near, far = outlook.of(source, short), outlook.of(source, long)
        assert 0 <= near.probability <= far.probability + 1e-9 <= 1 + 2e-9
        assert 0 <= far.low <= far.probability <= far.high <= 1


@given(drifts(), spans, spans)
def test_waiting_never_restores_confidence(
    drawn: tuple[Drift, list[Look]], first: int, second: int
) -> None:
    drift, _ = drawn
    sooner, later = (Outlook(drift, drift.latest() + wait) for wait in sorted((first, second)))
    for source in drift.sources:
        before, after = sooner.of(source, DAY), later.of(source, DAY)
        assert 0 <= after.confidence <= before.confidence + 1e-9 <= 1 + 2e-9


@given(drifts(), st.integers(0, 12))
def test_what_comes_later_changes_nothing_that_was_said_before(
    drawn: tuple[Drift, list[Look]], cut: int
) -> None:
    _, seen = drawn
    past, whole = Drift(), Drift()
    for look in seen[:cut]:
        past.look(look)
        whole.look(look)
    numbers = np.arange(len(past.sources))
    rates = Rates(whole)
    before = rates.chances(numbers, DAY)
    for look in seen[cut:]:
        whole.look(look)
    assert list(rates.chances(numbers, DAY)) == list(before)
    assert list(Rates(past).chances(numbers, DAY)) == list(before)


@given(drifts(), st.floats(0, 10), st.floats(0, 100), spans)
def test_a_proposal_saves_something_and_the_best_stands_first(
    drawn: tuple[Drift, list[Look]], ask: float, stale: float, horizon: int
) -> None:
    drift, _ = drawn
    outlook = Outlook(drift, drift.latest())
    records = [sample("a"), sample("b")]
    found = outlook.prefetch(
        records, horizon=horizon, prices=Prices(ask=ask, stale_use=stale), moved=TABLES
    )
    assert all(item.saving > 0 and 0 <= item.probability <= 1 for item in found)
    assert [item.saving for item in found] == sorted((i.saving for i in found), reverse=True)


KINDS = (ChangeKind.EVICTED, ChangeKind.SUPERSEDED, ChangeKind.SUSPENDED, ChangeKind.REVOKED)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from((None, *KINDS))), max_size=8))
def test_no_forecast_changes_a_status(story: list[tuple[str, ChangeKind | None]]) -> None:
    pen = Scribe(InMemoryStore(ids=SequenceIds("ledger")))
    for name, kind in story:
        held = {record.id: record.status for record in pen.expected.records()}
        if kind is None and name not in held:
            pen.write(sample(name, row=name))
        elif kind is not None and held.get(name) is Status.ACTIVE:
            pen.carry_out(pen.judged(kind, name))
    memory = Memory(pen.store, clock=ManualClock(10_000 * DAY), ids=SequenceIds("id"))
    before = memory.records(live=False)
    head, state = pen.store.head(), pen.store.state()
    outlook = forecast(memory.store.changes(), memory.now)
    for record in before:
        assert 0 <= outlook.confidence(record) <= 1
    outlook.tables(DAY)
    outlook.rows(DAY)
    outlook.together()
    outlook.prefetch(before, horizon=DAY, prices=Prices())
    assert pen.store.head() == head
    assert pen.store.state() == state
    assert memory.records(live=False) == before


MODULES = sorted(Path(lapse.contract.__file__).parent.glob("forecast*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_nothing_that_could_write_or_judge_is_within_reach(module: Path) -> None:
    names = {
        alias.name
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lapse")
        for alias in node.names
    }
    verdicts = {"Evict", "Keep", "Restamp", "Suspend", "Supersede", "Write", "Reject"}
    writing = {"Draft", "Part", "Store", "State", "seal", "writing", "drafts", "settle", "learn"}
    assert names & (verdicts | writing) == set()


@pytest.mark.parametrize("value", [CoDrift, Forecast, Prefetch, Rhythm])
def test_no_value_of_foresight_names_a_record_or_a_status(value: type) -> None:
    held = {str(field.type) for field in fields(value)}
    assert not {name for name in held if "Record" in name or "Status" in name}
