"""Traces: what is read, what is refused and how, and what a thinner copy keeps."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lapse.errors import InvalidValue
from lapse_bench.traces import SHIPPED, fewer, find, read, thin
from lapse_bench.traces.thinning import group_of, share_of

ADDED = {
    "at": "2020-01-01T00:00:00Z",
    "commit": "c1",
    "table": "php",
    "key": "7.1",
    "op": "added",
    "before": None,
    "after": {"latest": "7.1.1"},
}
CHANGED = {
    **ADDED,
    "at": "2020-02-01T00:00:00Z",
    "commit": "c2",
    "op": "changed",
    "before": {"latest": "7.1.1"},
    "after": {"latest": "7.1.2"},
}


def written(path: Path, *events: dict[str, Any] | str) -> Path:
    path.write_text(
        "\n".join(event if isinstance(event, str) else json.dumps(event) for event in events),
        encoding="utf-8",
    )
    return path


def test_a_plain_file_and_its_gzip_read_the_same(tmp_path: Path) -> None:
    plain = written(tmp_path / "trace.jsonl", ADDED, CHANGED)
    packed = tmp_path / "trace.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(plain) == read(packed)
    assert read(plain).events[1].after == {"latest": "7.1.2"}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "at least one event"),
        (["{"], "line 1 is '{': write one JSON object a line"),
        ([{**ADDED, "op": "moved"}], "line 1"),
        ([{**ADDED, "before": {}}], "line 1, op is 'added': added has no before"),
        ([{**ADDED, "at": "yesterday"}], "line 1, at is 'yesterday': write an ISO 8601 instant"),
        ([CHANGED], "line 1, before"),
        ([ADDED, {**CHANGED, "at": "2019-01-01T00:00:00Z"}], "put the events in time order"),
        ([ADDED, {**CHANGED, "before": {"latest": "7.0.0"}}], "must be what stands at php:7.1"),
    ],
)
def test_what_does_not_replay_is_refused_with_its_line(
    tmp_path: Path, lines: list[dict[str, Any] | str], says: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        read(written(tmp_path / "trace.jsonl", *lines))
    assert says in str(refused.value)


def test_a_broken_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(b"x" * 1000)[:-9])
    with pytest.raises(InvalidValue, match="readable UTF-8 file"):
        read(path)


def test_an_unknown_trace_is_refused_with_the_names_of_the_known() -> None:
    with pytest.raises(InvalidValue, match="twilio, adyen, endoflife"):
        find("github", start=Path("/"))


def test_the_shipped_copies_read_stand_beside_their_licences_and_stay_small() -> None:
    found = [find(name, start=Path("/"), full=False) for name in SHIPPED]
    assert all(place.thinned for place in found)
    assert sum(place.path.stat().st_size for place in found) < 1_000_000
    for place in found:
        assert len(read(place.path).events) > 5_000
        assert list(place.path.parent.glob(f"LICENSE.{place.name}*"))


def test_a_commit_reaches_a_table_at_once() -> None:
    history = read(find("twilio", start=Path("/"), full=False).path)
    batches = list(history.batches())
    assert sum(len(events) for _, _, events in batches) == len(history.events)
    assert all(len({event.commit for event in events}) == 1 for _, _, events in batches)


def test_thinning_keeps_whole_groups_and_gives_the_same_bytes_again(tmp_path: Path) -> None:
    history = read(find("adyen", start=Path("/"), full=False).path)
    packed = thin(history, keep=0.15)
    assert packed == thin(history, keep=0.15)
    path = tmp_path / "thin.jsonl.gz"
    path.write_bytes(packed)
    kept = read(path)
    groups = {group_of(event.table) for event in kept.events}
    assert groups == {
        group
        for group in map(group_of, {e.table for e in history.events})
        if share_of(group) < 0.15
    }
    assert kept.events == tuple(e for e in history.events if group_of(e.table) in groups)


def test_the_versions_of_a_service_are_one_group() -> None:
    assert group_of("adyen/CheckoutService-V30") == group_of("adyen/CheckoutService-v70")


def test_fewer_tables_are_whole_tables() -> None:
    history = read(find("endoflife", start=Path("/"), full=False).path)
    some = fewer(history, tables=10)
    tables = {event.table for event in some.events}
    assert 0 < len(tables) <= 10
    assert some.events == tuple(event for event in history.events if event.table in tables)
    with pytest.raises(InvalidValue, match="at least 1"):
        fewer(history, tables=0)
