"""The child that dies: it carries decisions out, says so on its output, and is killed at a point.

    python writer.py TARGET SCENARIO POINT OCCURRENCE

TARGET is the path of a SQLite file, or a PostgreSQL URL, a space and a schema. It writes a line
before each decision (what it tries) and one after (what was acknowledged). With POINT ``list`` it
is not killed, and writes a line for every point that it passes. With SCENARIO ``append`` it appends
OCCURRENCE changes in the name of POINT, or until it is killed when that is 0.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import returner

from lapse.errors import StoreConflict
from lapse.ledger import Change, ChangeKind, Draft, Source, Store, seal
from lapse.storage import FileAnchor, TrustedStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import ManualClock, Scribe, SequenceIds, sample


def said(what: str, value: object) -> None:
    """One line to the parent, at once."""
    os.write(1, f"{json.dumps([what, value])}\n".encode())


def opened(target: str, scenario: str, failpoint: Callable[[str], None]) -> Store:
    """The store that a target names, with an anchor beside it where the scenario has one."""
    if scenario == "anchored write":
        store = SqliteStore(target, ids=SequenceIds(), failpoint=failpoint)
        anchor = FileAnchor(f"{target}.anchor", failpoint=failpoint)
        return TrustedStore(store, anchor, clock=ManualClock())
    if target.startswith("postgres"):
        from lapse.storage.postgres import PostgresStore  # noqa: PLC0415 - only where it is used

        url, schema = target.split(" ")
        return PostgresStore(url, ids=SequenceIds(), schema=schema, failpoint=failpoint)
    return SqliteStore(target, ids=SequenceIds(), failpoint=failpoint)


def kill_at(point: str, occurrence: int) -> Callable[[str], None]:
    """A failpoint that kills this process when the point is passed for the nth time."""
    passed: Counter[str] = Counter()

    def failpoint(name: str) -> None:
        passed[name] += 1
        if point == "list":
            said("point", [name, passed[name]])
        elif (name, passed[name]) == (point, occurrence):
            os.kill(os.getpid(), signal.SIGKILL)

    return failpoint


def write(scribe: Scribe) -> Iterator[Sequence[Draft]]:
    """A write, a decision of several changes, and a write again."""
    table = Source.table("https://api.example", "flow_rules")
    yield scribe.written_by(sample("x"))
    yield (
        scribe.judged(ChangeKind.SUSPENDED, "x", "c"),
        scribe.moved(ChangeKind.OBSERVED, table, "v2"),
        scribe.witnessed("c"),
    )
    yield scribe.written_by(sample("y"))


def purge(scribe: Scribe) -> Iterator[Sequence[Draft]]:
    """A purge of two records, about which there are several changes."""
    scribe.written = list(scribe.store.changes())
    yield (scribe.purged("a", "b"),)


def migration(scribe: Scribe) -> Iterator[Sequence[Draft]]:
    """A first write into a place that was just made."""
    yield scribe.written_by(sample("x"))


SCENARIOS = {"write": write, "purge": purge, "migration": migration, "anchored write": write}


def carry_out(scribe: Scribe, decisions: Iterator[Sequence[Draft]]) -> None:
    """Carry decisions out, telling the parent before and after each."""
    for drafts in decisions:
        tried = scribe.sealed(*drafts)
        said("tried", [[change.seq, change.digest] for change in tried])
        scribe.carry_out(*drafts)
        said("acknowledged", [[change.seq, change.digest] for change in tried])


def append_for_ever(store: Store, name: str, count: int) -> None:
    """Append as one of many, each change in its turn; 0 means until killed."""
    done = 0
    while count == 0 or done < count:
        source = Source.premise("workspace", f"{name}/{done}")
        draft = Draft(
            kind=ChangeKind.OBSERVED, at=done, reason="seen", actor=name, source=source, version="1"
        )
        head = store.head()
        change: Change = seal([draft], head)[0]
        try:
            store.append((change,), after=head)
        except StoreConflict:
            continue
        said("acknowledged", [[change.seq, change.digest]])
        done += 1


def return_(store: Store, scenario: str) -> None:
    """Do what a workspace's verbs do, telling the parent before and after each."""
    for deed, do in returner.deeds(scenario, returner.reopened(store, "child")):
        said("tried", [deed])
        do()
        said("acknowledged", [deed])


def live(target: str, scenario: str, point: str, occurrence: int) -> None:
    """As the module says."""
    store = opened(target, scenario, kill_at(point, occurrence))
    if scenario == "append":
        append_for_ever(store, point, occurrence)
    elif scenario in returner.SCENARIOS:
        return_(store, scenario)
    else:
        scribe = Scribe(store)
        carry_out(scribe, SCENARIOS[scenario](scribe))
    store.close()


if __name__ == "__main__":
    live(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
