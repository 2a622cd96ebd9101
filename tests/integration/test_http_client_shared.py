"""Several memories on one SQLite file, each with clients of its own."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import httpx2

import lapse
from lapse.contract import A2D
from lapse.ledger import Intact, examine, fold, genesis
from lapse.runtime import Memory
from lapse.testing.service import ScriptedService
from lapse.transports.http import Transport

KEYS = [f"k{number}" for number in range(6)]


def calls(memory: Memory, service: ScriptedService, failures: list[BaseException]) -> None:
    """An agent that goes through every key, again and again."""
    try:
        client = httpx2.Client(transport=Transport(memory, service), base_url="http://api.example")
        for turn in range(4):
            for key in KEYS:
                client.post(f"/fix/codes/{key}", json={"key": key, "value": f"wrong {turn}"})
                memory.fixes(f"POST /fix/codes/{key}", {"key": key})
    except BaseException as failure:  # noqa: BLE001 - shown by the assertion of the test
        failures.append(failure)


def test_agents_on_one_file_end_in_one_state(tmp_path: Path) -> None:
    service = ScriptedService({"codes": dict.fromkeys(KEYS, "1")})
    memories = [lapse.open(tmp_path / "fixes.db", policy=A2D) for _ in range(3)]
    failures: list[BaseException] = []
    try:
        threads = [
            Thread(target=calls, args=(memory, service, failures))
            for memory in memories
            for _ in range(2)
        ]
        for number, thread in enumerate(threads):
            thread.start()
            service.reload("codes", {**dict.fromkeys(KEYS, "1"), "k0": str(number)})
        for thread in threads:
            thread.join()
        assert failures == []
        assert all(memory.counters.get("failed") is None for memory in memories)
        one, *others = (memory.records(live=False) for memory in memories)
        assert all(sorted(r.id for r in other) == sorted(r.id for r in one) for other in others)
        store = memories[0].store
        changes = tuple(store.changes())
        assert fold(genesis(store.ledger), changes) == store.state()
        assert isinstance(examine(store.ledger, changes, kept=store.state()), Intact)
    finally:
        for memory in memories:
            memory.close()


def test_what_one_evicts_no_other_serves(tmp_path: Path) -> None:
    service = ScriptedService({"codes": {"a": "1"}})
    with (
        lapse.open(tmp_path / "fixes.db", policy=A2D) as one,
        lapse.open(tmp_path / "fixes.db", policy=A2D) as other,
    ):
        mine, theirs = (
            httpx2.Client(transport=Transport(memory, service), base_url="http://api.example")
            for memory in (one, other)
        )
        mine.post("/fix/codes/a", json={"key": "a"})
        assert len(other.fixes("POST /fix/codes/a", {"key": "a"})) == 1
        service.reload("codes", {"a": "2"})
        theirs.post("/fix/codes/a", json={"key": "a", "value": "2"})
        assert one.fixes("POST /fix/codes/a", {"key": "a"}) == ()
