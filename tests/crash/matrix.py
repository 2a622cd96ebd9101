"""The crash matrix: a child is killed at every named point; what is left must be whole.

    python tests/crash/matrix.py [--format markdown|json] [--postgres URL]
        [--only SCENARIO ...] [--first]

On SQLite files, or on a PostgreSQL server when one is given. With `--only`, those scenarios; with
`--first`, one kill for each point and no more.

For every scenario (a few writes, a purge, the making of a new place, writes under an anchor; and
in a workspace, statements, a departure and a return) and every time that the child passes a named
point, one child is killed there with SIGKILL. Then the store is opened again, with its anchor where
it has one:

* every acknowledged change is there, in its place;
* of the decision that was under way, all is there or nothing;
* the kept state is what the changes add up to, and the chain verifies;
* purged content is in no file, or the purge did not happen;
* the next write works.

What has to be true of a workspace is in `returner`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import returner
import writer

from lapse.ledger import ChangeKind, Intact, Source, Store, examine
from lapse.storage import FileAnchor, TrustedStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import ManualClock, Scribe, SequenceIds, sample

SECRETS = (b"payments/a", b"payments/b")
"""What only the content of the records says that the purge scenario purges."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kill.

    Attributes:
        store: which store.
        scenario: what the child was doing.
        point: where it was killed.
        occurrence: at which passing of that point.
        acknowledged: how many changes had been acknowledged to it.
        outcome: what became of the decision under way: absent, whole, or what is wrong.
    """

    store: str
    scenario: str
    point: str
    occurrence: int
    acknowledged: int
    outcome: str

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.outcome in ("absent", "whole")


@dataclass(frozen=True, slots=True)
class Life:
    """What a child said, and how it ended: its exit code, or minus the signal."""

    said: list[tuple[str, Any]]
    ended: int


class SqlitePlaces:
    """Fresh files in one folder."""

    name = "sqlite"
    scenarios = ("write", "purge", "migration", "anchored write", *returner.SCENARIOS)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)

    def new(self) -> str:
        """A place where nothing is yet."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return str(folder / "ledger.sqlite")

    def open(self, target: str) -> Store:
        """The store in a place, with its anchor where it has one."""
        store = SqliteStore(target, ids=SequenceIds())
        anchor = Path(f"{target}.anchor")
        if not anchor.exists():
            return store
        return TrustedStore(store, FileAnchor(anchor), clock=ManualClock())

    def leaks(self, target: str) -> bool:
        """Whether the secrets are in any of the place's files."""
        files = [found.read_bytes() for found in Path(target).parent.iterdir()]
        return any(secret in content for secret in SECRETS for content in files)


class PostgresPlaces:
    """Fresh schemas of one database; its files are the server's, so only rows are searched."""

    name = "postgres"
    scenarios = ("write", "purge", "migration", *returner.SCENARIOS)

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = count(1)

    def new(self) -> str:
        """A place where nothing is yet."""
        return f"{self._url} crash_{os.getpid()}_{next(self._numbers)}"

    def open(self, target: str) -> Store:
        """The store in a place."""
        from lapse.storage.postgres import PostgresStore  # noqa: PLC0415 - only where asked for

        url, schema = target.split(" ")
        return PostgresStore(url, ids=SequenceIds(), schema=schema)

    def leaks(self, target: str) -> bool:
        """Whether the secrets are in any row."""
        with closing(self.open(target)) as store:
            bodies = [part.body or b"" for change in store.changes() for part in change.parts]
        return any(secret in body for secret in SECRETS for body in bodies)


Places = SqlitePlaces | PostgresPlaces


def run(places: Places, only: Collection[str] = (), *, first: bool = False) -> Iterator[Row]:
    """Every kill, one by one; of some scenarios, or one kill for each point."""
    for scenario in places.scenarios:
        if only and scenario not in only:
            continue
        for point, occurrence in points(places, scenario):
            if occurrence == 1 or not first:
                yield killed(places, scenario, point, occurrence)


def points(places: Places, scenario: str) -> list[tuple[str, int]]:
    """Every point that the child passes in a scenario, each time it does."""
    target = prepared(places, scenario)
    child = lived(target, scenario, "list", 0)
    assert child.ended == 0, "the child failed by itself"
    return [(str(value[0]), int(value[1])) for what, value in child.said if what == "point"]


def killed(places: Places, scenario: str, point: str, occurrence: int) -> Row:
    """One kill, and what was left."""
    target = prepared(places, scenario)
    child = lived(target, scenario, point, occurrence)
    acknowledged = [pair for what, value in child.said if what == "acknowledged" for pair in value]
    tried = [value for what, value in child.said if what == "tried"]
    in_flight: list[list[object]] = []
    if tried and tried[-1][-1] not in acknowledged:
        in_flight = tried[-1]
    if child.ended != -signal.SIGKILL:
        outcome = f"it was not killed there (status {child.ended})"
    elif scenario in returner.SCENARIOS:
        with closing(places.open(target)) as store:
            flat = [deed for deeds in tried for deed in deeds]
            outcome = returner.left(store, scenario, acknowledged, flat)
    else:
        outcome = left(places, target, acknowledged, in_flight)
    return Row(places.name, scenario, point, occurrence, len(acknowledged), outcome)


def prepared(places: Places, scenario: str) -> str:
    """A place with some records in it; for the making of a place, one where nothing is."""
    target = places.new()
    if scenario == "anchored write":
        anchor = FileAnchor(f"{target}.anchor")
        TrustedStore(SqliteStore(target, ids=SequenceIds()), anchor, clock=ManualClock()).close()
    if scenario != "migration":
        with closing(places.open(target)) as store:
            if scenario in returner.SCENARIOS:
                returner.prepare(scenario, store)
                return target
            scribe = Scribe(store)
            scribe.write(sample("a"), sample("b"), sample("c"))
            scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a", "b"))
    return target


def lived(target: str, scenario: str, point: str, occurrence: int) -> Life:
    """What a child said until it ended, and how it ended."""
    hears, says = os.pipe()
    child = os.fork()  # this process has one thread and no store open
    if child == 0:
        os.dup2(says, 1)
        try:
            writer.live(target, scenario, point, occurrence)
        except BaseException:  # noqa: BLE001 - a forked child must not run the rest of the parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(says)
    with os.fdopen(hears, encoding="utf-8") as said:
        lines = [tuple(json.loads(line)) for line in said if line.endswith("\n")]
    return Life(lines, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def left(
    places: Places, target: str, acknowledged: list[list[object]], in_flight: list[list[object]]
) -> str:
    """Whether the decision under way is absent or whole, or what is wrong."""
    with closing(places.open(target)) as store:
        changes = list(store.changes())
        chain = [[change.seq, change.digest] for change in changes]
        found = examine(store.ledger, changes, kept=store.state())
        if not isinstance(found, Intact):
            return f"the ledger is broken: {found}"
        if any(pair not in chain for pair in acknowledged):
            return "an acknowledged change is lost"
        there = [pair in chain for pair in in_flight]
        if any(there) and not all(there):
            return "half a decision is there"
        purged = any(change.kind is ChangeKind.PURGED for change in changes)
        if purged and places.leaks(target):
            return "purged content is still there"
        scribe = Scribe(store)
        scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, Source.rules("after"), "1"))
        if store.state() != scribe.expected:
            return "the next write went wrong"
    return "whole" if any(there) else "absent"


def markdown(rows: list[Row]) -> str:
    """The rows as a table, the passings of one point together."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.store, row.scenario, row.point), []).append(row)
    text = "| store | scenario | killed at | kills | acknowledged kept | decision under way |\n"
    text += "| --- | --- | --- | --- | --- | --- |\n"
    for (store, scenario, point), group in groups.items():
        outcomes = ", ".join(sorted({row.outcome for row in group}))
        kept = "all" if all(row.holds for row in group) else "**no**"
        text += f"| {store} | {scenario} | {point} | {len(group)} | {kept} | {outcomes} |\n"
    return text


def main() -> int:
    """Print the matrix; 1 when a promise was broken."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--format", choices=("markdown", "json"), default="markdown")
    options.add_argument("--postgres", metavar="URL", help="on this server, instead of on files")
    options.add_argument("--only", metavar="SCENARIO", nargs="*", default=(), help="these alone")
    options.add_argument("--first", action="store_true", help="one kill for each point")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = SqlitePlaces(Path(folder))
        places = PostgresPlaces(asked.postgres) if asked.postgres else files
        rows = list(run(places, asked.only, first=asked.first))
    as_json = json.dumps([asdict(row) for row in rows], indent=1)
    sys.stdout.write(as_json if asked.format == "json" else markdown(rows))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
