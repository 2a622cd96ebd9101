"""A power cut may leave any beginning of the log: what opens is a beginning of history."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from lapse.ledger import ChangeKind, Intact, Source, examine
from lapse.storage.sqlite import SqliteStore
from lapse.testing import Scribe, SequenceIds, sample

FRAME = 4_096 + 24
"""Bytes of a page in the log, and of what stands before it."""


@pytest.mark.parametrize("synchronous", ["full", "normal"])
def test_any_beginning_of_the_log_is_a_beginning_of_history(
    tmp_path: Path, synchronous: str
) -> None:
    path = tmp_path / "ledger.sqlite"
    store = SqliteStore(path, ids=SequenceIds(), synchronous=synchronous)  # type: ignore[arg-type]
    scribe = Scribe(store)
    table = Source.table("https://api.example", "flow_rules")
    ends = [scribe.expected.head]
    for number in range(6):
        scribe.carry_out(*scribe.written_by(sample(f"r{number}", row=str(number))))
        ends.append(scribe.expected.head)
        scribe.carry_out(
            scribe.judged(ChangeKind.SUSPENDED, f"r{number}"),
            scribe.moved(ChangeKind.OBSERVED, table, str(number)),
            scribe.moved(ChangeKind.ADVANCED, table, "v1"),
        )
        ends.append(scribe.expected.head)
    log = path.with_name("ledger.sqlite-wal").read_bytes()
    found: list[int] = []
    for length in sorted({*range(0, len(log) + 1, FRAME // 3), len(log)}):
        folder = tmp_path / str(length)
        folder.mkdir()
        shutil.copy(path, folder)
        (folder / "ledger.sqlite-wal").write_bytes(log[:length])
        with closing(SqliteStore(folder / "ledger.sqlite", ids=SequenceIds())) as torn:
            changes = list(torn.changes())
            assert torn.head() in ends
            assert changes == scribe.written[: len(changes)]
            assert isinstance(examine(torn.ledger, changes, kept=torn.state()), Intact)
            found.append(ends.index(torn.head()))
    assert found == sorted(found)
    assert set(found) == set(range(len(ends)))
    store.close()
