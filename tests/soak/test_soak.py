"""A long life: thousands of episodes, a service that reloads and dies, clients that come and go.

One service in a process of its own keeps its state in a file and is killed again and again, also
while it reloads. Agents share one SQLite file: one that lives through everything, one that is
closed and opened again, and one in a process of its own that is killed in the middle of episodes.

This file is also that last agent: `python test_soak.py FILE` carries out an episode for each line.
"""

from __future__ import annotations

import contextlib
import gc
import json
import random
import resource
import signal
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
import pytest

import lapse
from lapse.ledger import Intact, examine, fold, genesis
from lapse.runtime import Event
from lapse.transports.http import Transport

ISSUER = "https://shop.example"
TOKEN = "t" * 20
TABLES = tuple(f"t{number}" for number in range(4))
KEYS = tuple(f"k{number}" for number in range(12))

Rows = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Episode:
    """What one episode was like.

    Attributes:
        served: the remembered value that was used at first; None: nothing was known.
        statuses: the answers' statuses.
        stored: the records that were reported as durable.
    """

    served: str | None
    statuses: list[int]
    stored: list[str]


class Agent(Protocol):
    """Whoever does episodes."""

    def episode(self, base: str, table: str, key: str) -> Episode: ...

    def close(self) -> None: ...


class Here:
    """An agent in this process."""

    def __init__(self, path: Path) -> None:
        self._stored: list[str] = []
        self.memory = lapse.open(path, observers=[self._heard])
        # There is no TLS on loopback, and reading the machine's certificates takes 0.1 s.
        wire = Transport(self.memory, httpx2.HTTPTransport(verify=False), issuer=ISSUER)
        self.client = httpx2.Client(transport=wire, timeout=60)

    def _heard(self, event: Event) -> None:
        if event.what in ("stored", "superseded") and event.record is not None:
            self._stored.append(event.record)

    def episode(self, base: str, table: str, key: str) -> Episode:
        """Ask with what is remembered, or with nothing; if refused, with what is suggested."""
        self._stored = []
        fixes = self.memory.fixes(f"POST /{table}", {"key": key}, issuer=ISSUER)
        served = str(fixes[-1].parameters["value"]) if fixes else None
        answer = self.client.post(f"{base}/{table}", json={"key": key, "value": served})
        statuses = [answer.status_code]
        if answer.status_code == 422:
            (fix,) = answer.json()["recovery_feedback"]["suggestions"]
            right = {"key": key, **fix["parameters"]}
            answer = self.client.post(f"{base}/{table}", json=right)
            statuses.append(answer.status_code)
        return Episode(served, statuses, self._stored)

    def close(self) -> None:
        self.client.close()
        self.memory.close()


class There:
    """An agent in a process of its own, which can die."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, running this file
            [sys.executable, __file__, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, base: str, table: str, key: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([base, table, key]) + "\n")
        self.process.stdin.flush()

    def episode(self, base: str, table: str, key: str) -> Episode:
        self.begin(base, table, key)
        assert self.process.stdout is not None
        return Episode(**json.loads(self.process.stdout.readline()))

    def die(self) -> None:
        self.process.kill()
        self.process.communicate()

    def close(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


def live_as_agent(path: Path) -> None:
    """The program of `There`."""
    with closing(Here(path)) as agent:
        for line in sys.stdin:
            done = agent.episode(*json.loads(line))
            print(json.dumps(vars(done)), flush=True)  # noqa: T201 - to the parent


class Service:
    """`lapse serve` as a child process, with a state file."""

    def __init__(self, folder: Path) -> None:
        self._file, self._state = folder / "shop.yaml", folder / "shop.state.json"
        self._file.write_text(json.dumps(declared()), encoding="utf-8")
        self.operator = httpx2.Client(verify=False, timeout=60)
        self.start()

    def start(self) -> None:
        words = ["serve", str(self._file), "--state", str(self._state), "--port", "0"]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "lapse.cli", *words, "--format", "json"],
            stdout=subprocess.PIPE,
            env={"LAPSE_OPERATOR_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
            text=True,
        )
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:  # to its end, if it ends before it serves
            lines.append(line)
            if line == "}\n":
                break
        self.base: str = json.loads("".join(lines))["address"]

    def resident_bytes(self) -> int:
        """How much memory it has; 0 where the system does not say."""
        file = Path(f"/proc/{self.process.pid}/statm")
        return int(file.read_text().split()[1]) * resource.getpagesize() if file.exists() else 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def close(self) -> None:
        self.operator.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()

    def versions(self) -> dict[str, str]:
        return self.operator.get(f"{self.base}/contract/versions").json()["table_versions"]

    def _reload(self, table: str, rows: Rows, version: str | None) -> tuple[bytes, dict[str, str]]:
        asked = {"table": table, "rows": rows, **({} if version is None else {"version": version})}
        return json.dumps(asked).encode(), {"Authorization": f"Bearer {TOKEN}"}

    def reload(self, table: str, rows: Rows, version: str | None = None) -> str:
        body, headers = self._reload(table, rows, version)
        at = f"{self.base}/contract/reload"
        answer = self.operator.post(at, content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["new_version"]

    def die_reloading(self, table: str, rows: Rows) -> None:
        """Be killed after the operator's request has been sent, and before its answer is read."""
        body, headers = self._reload(table, rows, None)
        at = urlsplit(self.base)
        fields = {**headers, "Host": at.netloc, "Content-Length": str(len(body))}
        lines = [f"{name}: {value}\r\n" for name, value in fields.items()]
        head = f"POST /contract/reload HTTP/1.1\r\n{''.join(lines)}\r\n".encode()
        with socket.create_connection((at.hostname, at.port)) as connection:
            connection.sendall(head + body)
            self.kill()


def declared() -> dict[str, Any]:
    """A service with a policy for each table: the request has to have the row's value."""
    return {
        "tables": {table: {"version": "1", "rows": first_rows(table)} for table in TABLES},
        "policies": [
            {
                "id": f"value-of-{table}",
                "operation": f"POST /{table}",
                "title": "Another value is on file",
                "detail": "The value is not the one of the key's row.",
                "look_ups": {"row": {"table": table, "key": {"field": "key"}}},
                "require": {
                    "field": "value",
                    "equals": {"look_up": "row", "member": "value"},
                },
                "suggest": {
                    "type": "SET_VALUE",
                    "parameters": {"value": {"look_up": "row", "member": "value"}},
                },
            }
            for table in TABLES
        ],
    }


def first_rows(table: str) -> Rows:
    return {key: {"value": f"{table}-{key}-0"} for key in KEYS}


@dataclass
class World:
    """What is true, what was said of it, and who lives in it.

    Attributes:
        past: each state that a table ever had: its version and its rows.
        told: for each table, which of these an agent has heard of last.
        stored: every record of which some agent said that it is durable.
        moved: the table and the key of the row that a reload was about last.
        at_once: how many episodes went right at the first request.
        overtaken: how often a fix was used that had lapsed since anybody heard of its table.
    """

    folder: Path
    chance: random.Random
    past: dict[str, list[tuple[str, Rows]]] = field(
        default_factory=lambda: {table: [("1", first_rows(table))] for table in TABLES}
    )
    told: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    stored: set[str] = field(default_factory=set[str])
    moved: tuple[str, str] | None = None
    at_once: int = 0
    overtaken: int = 0

    def __post_init__(self) -> None:
        self.path = self.folder / "fixes.db"
        self.service = Service(self.folder)
        self.elder, self.guest, self.other = Here(self.path), Here(self.path), There(self.path)

    def close(self) -> None:
        for one in (self.elder, self.guest, self.other):
            one.close()
        self.service.close()

    # -- what happens ------------------------------------------------------------------------

    def episode(self, agent: Agent | None = None, table: str = "", key: str = "") -> None:
        agent = agent or self.chance.choice((self.elder, self.guest, self.other))
        table, key = table or self.chance.choice(TABLES), key or self.chance.choice(KEYS)
        done = agent.episode(self.service.base, table, key)
        _, heard = self.past[table][self.told[table]]
        _, true = self.past[table][-1]
        # Nothing is served that a response before this episode has shown to be over.
        assert done.served in (None, heard[key]["value"])
        if done.served == true[key]["value"]:
            assert done.statuses == [200]
            self.at_once += 1
        else:
            assert done.statuses == [422, 200]
            self.overtaken += done.served is not None
        self.stored.update(done.stored)
        self.told = {name: len(states) - 1 for name, states in self.past.items()}

    def changed(self) -> tuple[str, Rows]:
        """A table with one row that is new, or as it once was."""
        table, key = self.chance.choice(TABLES), self.chance.choice(KEYS)
        rows = dict(self.past[table][-1][1])
        earlier = self.chance.choice(self.past[table])[1][key]
        new = {"value": f"{table}-{key}-{len(self.past[table])}"}
        rows[key] = earlier if self.chance.random() < 0.25 else new
        self.moved = table, key
        return table, rows

    def reload(self) -> None:
        table, rows = self.changed()
        version = None
        if self.chance.random() < 0.2:  # a benign bump
            rows, version = self.past[table][-1][1], f"bump-{len(self.past[table])}"
        said = self.service.reload(table, rows, version)
        if said != self.past[table][-1][0]:
            self.past[table].append((said, rows))

    def kill_service(self) -> None:
        if self.chance.random() < 0.5:
            self.service.kill()
            table, rows = "", {}
        else:
            table, rows = self.changed()
            self.service.die_reloading(table, rows)
        self.service.start()
        now = self.service.versions()
        if table and now[table] != self.past[table][-1][0]:
            self.past[table].append((now[table], rows))
        # Whatever was acknowledged is there; what was under way is there whole, or not at all.
        assert now == {name: states[-1][0] for name, states in self.past.items()}

    def come_and_go(self) -> None:
        self.guest.close()
        self.guest = Here(self.path)
        self.check_nothing_lost()

    def kill_other(self) -> None:
        self.other.begin(self.service.base, self.chance.choice(TABLES), self.chance.choice(KEYS))
        self.other.die()
        self.other = There(self.path)

    # -- what must hold ----------------------------------------------------------------------

    def check_nothing_lost(self) -> None:
        kept = {record.id for record in self.guest.memory.records(live=False)}
        assert self.stored <= kept
        # One fix for each place: a newer one takes the place of an older one.
        assert len(self.guest.memory.records()) <= len(TABLES) * len(KEYS)

    def check_ledger(self) -> None:
        store = self.guest.memory.store
        changes = tuple(store.changes())
        assert fold(genesis(store.ledger), changes) == store.state()
        assert isinstance(examine(store.ledger, changes, kept=store.state()), Intact)
        for agent in (self.elder, self.guest):
            held = {record.id: record for record in agent.memory.records(live=False)}
            assert held == {record.id: record for record in store.state().records()}


@contextmanager
def world(folder: Path, seed: int) -> Generator[World]:
    made = World(folder, random.Random(seed))  # noqa: S311 - repeatable, not secret
    try:
        yield made
    finally:
        made.close()


def live(here: World, *, episodes: int, kills: int, goings: int, deaths: int) -> None:
    """Episodes, in which everything else happens at moments that the seed picks."""
    happens: dict[int, list[Any]] = {}
    for what, times in (
        (here.kill_service, kills),
        (here.come_and_go, goings),
        (here.kill_other, deaths),
        (here.reload, episodes // 15),
    ):
        for moment in here.chance.sample(range(episodes), times):
            happens.setdefault(moment, []).append(what)
    for number in range(episodes):
        for what in happens.get(number, ()):
            what()
        if here.chance.random() < 0.1 and here.moved:
            here.episode(None, *here.moved)  # what moved last is asked for more than the rest
        else:
            here.episode()
    here.check_nothing_lost()
    here.check_ledger()


def learn_all(here: World) -> None:
    """Every row is asked for once; then all of them are known, and none is wrong."""
    rows = [(table, key) for table in TABLES for key in KEYS]
    for table, key in rows:
        here.episode(here.elder, table, key)
    before = here.at_once
    for table, key in rows:
        here.episode(here.elder, table, key)
    assert here.at_once - before == len(rows)


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def check_quiet_life_takes_no_memory(here: World, *, episodes: int) -> None:
    """While nothing moves, nothing is written, asked or kept."""
    learn_all(here)
    head = here.elder.memory.store.head()
    tracemalloc.start()
    try:
        for _ in range(episodes // 4):  # what is cached on first use is there after this
            here.episode(here.elder)
        gc.collect()
        served = here.service.resident_bytes()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(episodes):
            here.episode(here.elder)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert here.elder.memory.store.head() == head
    # A leak of one small object for each episode would be 50 bytes times the episodes.
    assert after - before < 20 * episodes
    # Nor does the service keep anything of a request, the smallest of which is longer.
    assert here.service.resident_bytes() - served < 4_096 * episodes


def check_a_long_life_is_no_burden(here: World) -> None:
    """Who lived through everything holds what one holds who has just read the file."""
    here.come_and_go()
    for agent in (here.elder, here.guest):
        here.episode(agent, TABLES[0], KEYS[0])
    with_both = objects()
    here.guest.close()
    without_guest = objects()
    here.elder.close()
    without_any = objects()
    here.elder, here.guest = Here(here.path), Here(here.path)
    fresh, old = with_both - without_guest, without_guest - without_any
    assert old <= fresh * 1.05 + 500


def test_a_short_life(tmp_path: Path) -> None:
    with world(tmp_path, seed=1) as here:
        live(here, episodes=300, kills=1, goings=3, deaths=1)
        assert here.at_once > 100
        assert here.overtaken > 0
        learn_all(here)


@pytest.mark.slow
def test_a_long_life(tmp_path: Path) -> None:
    with world(tmp_path, seed=2) as here:
        live(here, episodes=10_000, kills=30, goings=60, deaths=25)
        assert here.at_once > 7_000
        check_quiet_life_takes_no_memory(here, episodes=1_000)
        check_a_long_life_is_no_burden(here)
        here.check_ledger()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        live_as_agent(Path(sys.argv[1]))
