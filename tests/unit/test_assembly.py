"""From a URL to a memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapse
from lapse.assembly import open_store
from lapse.contract import A1, A2DC
from lapse.errors import InvalidValue, LedgerNotTrusted, StoreForeign
from lapse.ledger import AnchoredHead, Head, Instant, Interval, Kind, Record, seal, writing
from lapse.runtime import Event, Memory
from lapse.testing import ManualClock, SequenceIds


def note(memory: Memory) -> None:
    """Write one record past the memory."""
    state = memory.store.state()
    record = Record(id="n", kind=Kind.FACT, slot="n", content={}, valid=Interval(0))
    drafts = writing(state, record, at=0, reason="noted", actor="test", salt="s")
    memory.store.append(seal(drafts, state.head), after=state.head)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("plain.db", "plain.db"),
        ("sqlite:///relative.db", "relative.db"),
        ("sqlite:///with%20space%3F.db", "with space?.db"),
        ("odd?name#here.db", "odd?name#here.db"),
    ],
)
def test_a_path_and_its_url_name_a_file(
    url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with lapse.open(url) as memory:
        note(memory)
    assert (tmp_path / path).is_file()
    with lapse.open(Path(path)) as memory:
        assert [record.id for record in memory.records()] == ["n"]


@pytest.mark.parametrize("prefix", ["sqlite:///", "", "/"])
def test_an_absolute_path_is_one_in_every_spelling(prefix: str, tmp_path: Path) -> None:
    with lapse.open(f"{prefix}{tmp_path}//[absolute].db") as memory:
        note(memory)
    assert (tmp_path / "[absolute].db").is_file()


def test_memory_keeps_nothing_behind() -> None:
    with lapse.open("memory:") as memory:
        note(memory)
        assert len(memory) == 1
    with lapse.open("memory:") as memory:
        assert len(memory) == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redis://localhost/1",
        "http://[::1",
        "sqlite://relative.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///x.db?mode=ro",
        "sqlite:///x.db#part",
        "memory://",
    ],
)
def test_what_names_no_store_is_refused_with_what_to_write_instead(url: str) -> None:
    with pytest.raises(InvalidValue, match=r"pass a path|slashes|%3F"):
        open_store(url, ids=SequenceIds())


def test_a_memory_is_built_from_what_it_is_given() -> None:
    heard: list[Event] = []
    clock = ManualClock(9)
    ids = SequenceIds("mine")
    with lapse.open("memory:", policy=A1, observers=[heard.append], clock=clock, ids=ids) as memory:
        memory.refused("i", "reason")
        assert (memory.policy, memory.now, memory.store.ledger) == (A1, 9, "mine-1")
    assert heard == [Event(what="refused", reason="reason", at=9, issuer="i")]


def test_without_words_it_is_the_machines_time_and_row_granularity() -> None:
    with lapse.open("memory:") as memory:
        assert memory.policy is A2DC
        assert memory.now > 1_700_000_000_000_000
        assert len(memory.store.ledger) == 32


class Elsewhere:
    """Implements `lapse.ledger.Anchor`: it knows another ledger."""

    def read(self) -> AnchoredHead | None:
        return AnchoredHead(ledger="another", head=Head(5, "d" * 64), at=0)

    def announce(self, ledger: str, head: Head, *, at: Instant) -> None:
        raise AssertionError((ledger, head, at))

    advance = announce


def test_a_ledger_that_is_not_the_anchored_one_is_refused_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "fixes.db"
    with lapse.open(path) as memory:
        note(memory)
    with pytest.raises(LedgerNotTrusted, match="another"):
        lapse.open(path, anchor=Elsewhere())
    with lapse.open(path) as memory:  # nobody holds it
        note_free = [record.id for record in memory.records()]
    assert note_free == ["n"]


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear all, " * 100, encoding="utf-8")
    with pytest.raises(StoreForeign):
        lapse.open(path)
    assert path.read_text(encoding="utf-8") == "Dear all, " * 100
