"""A new fix made durable, against the least that SQLite does to make one row durable."""

# pyright: reportUnknownMemberType=false
# The driver's stubs speak of a type that Python 3.11 does not have.

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import apsw

import lapse
from lapse.contract import (
    A2D,
    CacheHint,
    Envelope,
    Lesson,
    RowVersion,
    Suggestion,
    TableChanges,
    TableVersion,
    learned,
)
from lapse.ledger import Record, encode, seal, writing
from lapse.storage import RandomIds
from lapse_bench.speed.pairs import Pair
from lapse_bench.speed.records import ISSUER, record_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lapse.ledger import Change
    from lapse.runtime import Memory

__all__ = ["durable_learn", "durable_put"]

_CALLS = 20
_TABLES = 6
_RAW = (
    "INSERT of one row (a 32-character primary key and the fix's {} bytes) through the same "
    "driver in a transaction of its "
    "own; write-ahead log, synchronous=FULL, secure_delete and cell_size_check as ours"
)


def durable_put(folder: Path) -> Pair:
    """A sealed change appended to the store, against a single-row insert into a file beside it."""
    memory = lapse.open(folder / "put.sqlite", policy=A2D)
    _learn_first(memory, _lesson(0))
    store, ids, lessons = memory.store, RandomIds(), map(_lesson, count(1))
    state = store.state()
    ready: list[tuple[Change, ...]] = []

    def prepare() -> None:
        ready.clear()
        for _ in range(_CALLS):
            lesson = next(lessons)
            record = learned(
                lesson.envelope.suggestions[0], lesson, record_id=ids.new(), watched=True
            )
            if not isinstance(record, Record):
                raise AssertionError(record)  # noqa: TRY004 - it names why nothing was learned
            drafts = writing(
                state, record, at=lesson.at, reason="learned", actor="contract", salt=ids.new()
            )
            changes = seal(drafts, state.head)
            for change in changes:
                state.apply(change)
            ready.append(changes)

    def ours() -> None:
        for changes in ready:
            head = store.head()
            store.append(changes, after=head)

    theirs, body = _raw(folder / "put-raw.sqlite", memory)
    return Pair(
        name="durable_put",
        ours=ours,
        theirs=theirs,
        calls=_CALLS,
        turns=41,
        goal=2.0,
        ours_does="Store.head, then Store.append of one sealed change that writes a fix: the "
        "chain's entry with its receipt, the "
        "record's current state and the index, in one transaction under synchronous=FULL",
        theirs_does=_RAW.format(body),
        prepare=prepare,
    )


def durable_learn(folder: Path) -> Pair:
    """The whole way of a suggestion into a durable memory, against the same insert."""
    memory = lapse.open(folder / "learn.sqlite", policy=A2D)
    _learn_first(memory, _lesson(0))
    lessons = map(_lesson, count(1))
    ready: list[Lesson] = []

    def prepare() -> None:
        ready[:] = [next(lessons) for _ in range(_CALLS)]

    def ours() -> None:
        for lesson in ready:
            _learn(memory, lesson)

    theirs, body = _raw(folder / "learn-raw.sqlite", memory)
    return Pair(
        name="durable_learn",
        ours=ours,
        theirs=theirs,
        calls=_CALLS,
        turns=21,
        goal=2.0,
        ours_does="Memory.receive of a response with one new fix: envelope compared, decided, "
        "canonicalised and digested, sealed, "
        "appended as in durable_put, applied",
        theirs_does=_RAW.format(body),
        prepare=prepare,
    )


def _raw(path: Path, memory: Memory) -> tuple[Callable[[], None], int]:
    """One turn of bare inserts, and how many bytes each writes."""
    body = encode(memory.records()[0].as_json())
    connection = apsw.Connection(str(path))
    for pragma in (
        "journal_mode=wal",
        "synchronous=full",
        "secure_delete=on",
        "temp_store=memory",
        "cell_size_check=on",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE kept (id TEXT PRIMARY KEY NOT NULL, body BLOB NOT NULL)")
    ids = count()

    def turn() -> None:
        for _ in range(_CALLS):
            connection.execute("INSERT INTO kept VALUES (?, ?)", (record_id(next(ids)), body))

    return turn, len(body)


def _learn(memory: Memory, lesson: Lesson) -> None:
    for _ in memory.receive(lesson):
        raise AssertionError("nothing moved, so nothing should be asked")


def _learn_first(memory: Memory, lesson: Lesson) -> None:
    """As `_learn`, for a table that nothing vouches for yet: the service says it has not moved."""
    steps = memory.receive(lesson)
    question = next(steps)
    now = TableChanges(table=question.source.name, since="1.0.0", version="1.0.0", complete=True)
    with suppress(StopIteration):
        steps.send(now)


def _lesson(index: int) -> Lesson:
    versions = {f"table_{number}": "1.0.0" for number in range(_TABLES)}
    suggestion = Suggestion(
        type="USE_REQUIRED_FUNDING_TYPE",
        parameters={"payment_method_token": f"acme_pm_visa_credit_{index}"},
        cache_hint=CacheHint.CACHEABLE,
        tables=(TableVersion("table_0", "1.0.0"),),
        rows=(RowVersion("table_0", f"key_{index}", "0123456789ab"),),
        when={"payment_method_token": f"acme_pm_visa_debit_{index}"},
    )
    envelope = Envelope(
        success=False,
        suggestions=(suggestion,),
        table_versions=versions,
        rules_version="ec524f499ebe",
    )
    return Lesson(
        issuer=ISSUER, operation="POST /v1/payments", request=None, envelope=envelope, at=index
    )
