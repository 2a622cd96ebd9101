"""Our own ledger as a store of memories: the reference for adapters, and a store for who has none.

A memory is a chain of records in one slot, newest last; a text that was replaced is superseded and
kept. Searching compares words, without a model; whoever wants meaning brings a store that has it.
"""

# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lapse.errors import InvalidValue
from lapse.ledger import (
    ChangeKind,
    Draft,
    Interval,
    Kind,
    Outcome,
    Part,
    Receipt,
    Record,
    Source,
    Status,
    writing,
)
from lapse.runtime import Session
from lapse.stores.matching import likeness, words
from lapse.stores.port import Capabilities, Remembered, text_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lapse.ledger import Clock, Ids, Instant, JsonObject, State, Store

__all__ = ["OwnStore"]

_FORM = "note"


class _Note(NamedTuple):
    external_id: str
    text: str
    metadata: dict[str, Any]
    created_at: Instant


class OwnStore:
    """Implements `MemoryStore` over a ledger. Safe to call from several threads and processes.

    Args:
        ledger: where the memories are kept.
        name: what the store is called; two of different names in one ledger do not meet.
        clock: tells the time.
        ids: makes up names and salts.
    """

    capabilities = Capabilities(
        list_all=True,
        text_search=True,
        soft_invalidate=True,
        native_validity=True,
        native_sources=True,
        versions=True,
        persistent=True,
    )

    def __init__(self, ledger: Store, *, clock: Clock, ids: Ids, name: str = "own") -> None:
        self.name = name
        self._session = Session(ledger)
        self._clock = clock
        self._ids = ids

    def close(self) -> None:
        """Give the ledger back; calling it twice does no harm."""
        self._session.store.close()

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Keep a text; ``source_ids`` in the metadata, a list of texts, says what it is from."""
        external_id = self._ids.new()
        return self._put(external_id, lambda _: (text, dict(metadata or {})))

    def get(self, external_id: str) -> Remembered | None:
        """One memory; None when there is none of this name."""
        with self._session.lock:
            record = self._latest(self._session.catch_up(), external_id)
        return None if record is None else _remembered(record)

    def list(self) -> Iterator[Remembered]:
        """Every memory, oldest first."""
        with self._session.lock:
            state = self._session.catch_up()
            mine = [_remembered(record) for record in state if self._is_mine(record)]
        return iter(sorted(mine, key=lambda memory: memory.created_at or 0))

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """The memories that share words with the query, those that share most of theirs first."""
        asked = words(query)
        with self._session.lock:
            mine = [record for record in self._session.catch_up() if self._is_mine(record)]
        scored = [(likeness(asked, words(r.content["text"])), r) for r in mine]
        found = [(score, record) for score, record in scored if score > 0]
        found.sort(key=lambda one: (-one[0], one[1].content["external_id"]))
        return [_remembered(record, score=score) for score, record in found[:limit]]

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Write another text in its place; the one before is superseded and kept."""

        def renewed(before: Record | None) -> tuple[str, dict[str, Any]]:
            if before is None:
                raise InvalidValue("external_id", external_id, "name a memory that the store has")
            kept = before.content["metadata"] if metadata is None else metadata
            return text, dict(kept)

        return self._put(external_id, renewed)

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Suspend it, with the reason."""

        def drafted(record: Record) -> Sequence[Draft]:
            part = Part.of(record.id, {"why": reason}, salt=self._ids.new())
            at = self._clock.now()
            return (
                Draft(
                    kind=ChangeKind.SUSPENDED, at=at, reason="suspended", actor=by, parts=(part,)
                ),
            )

        self._change(external_id, Status.ACTIVE, drafted)

    def restore(self, external_id: str) -> None:
        """Let it stand again; a receipt says that its text was seen as it is."""

        def drafted(record: Record) -> Sequence[Draft]:
            at = self._clock.now()
            receipt = _receipt(record.content["text"], self.name, external_id, at)
            seen = Part.of(record.id, receipt.as_json(), salt=self._ids.new())
            back = Part.of(record.id, {}, salt=self._ids.new())
            return tuple(
                Draft(kind=kind, at=at, reason="restored", actor=self.name, parts=(part,))
                for kind, part in ((ChangeKind.WITNESSED, seen), (ChangeKind.REINSTATED, back))
            )

        self._change(external_id, Status.SUSPENDED, drafted)

    def export(self) -> list[JsonObject]:
        """Every memory: name, text, metadata, when it was made, and whether it is suspended."""
        with self._session.lock:
            state = self._session.catch_up()
            return [
                {
                    "external_id": record.content["external_id"],
                    "text": record.content["text"],
                    "metadata": record.content["metadata"],
                    "created_at": record.content["created_at"],
                    "suspended": record.status is Status.SUSPENDED,
                }
                for record in state
                if self._is_mine(record)
            ]

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Keep what `export` gave, under the same names.

        Raises:
            InvalidValue: one of them is not what `export` gives; those before it were kept.
        """
        return [self._imported(one) for one in exported]

    # -- inside ------------------------------------------------------------------------------

    def _imported(self, one: JsonObject) -> Remembered:
        match dict(one):
            case {
                "external_id": str(external_id),
                "text": str(text),
                "metadata": dict() as metadata,
                "created_at": int(created_at),
                "suspended": bool(suspended),
            }:
                there = self.get(external_id)
                if there is None or (there.text, there.metadata) != (text, metadata):
                    self._put(external_id, lambda _: (text, metadata), created_at=created_at)
                if suspended:
                    self.invalidate(external_id, reason="imported", by=self.name)
                return self.get(external_id) or self._gone(external_id)
            case _:
                raise InvalidValue("exported", one, "pass what export() gives")

    @staticmethod
    def _gone(external_id: str) -> Remembered:
        raise InvalidValue(
            "external_id", external_id, "somebody removed it meanwhile; import again"
        )

    def _put(
        self,
        external_id: str,
        renew: Callable[[Record | None], tuple[str, dict[str, Any]]],
        *,
        created_at: Instant | None = None,
    ) -> Remembered:
        record_id, salt, at = self._ids.new(), self._ids.new(), self._clock.now()

        def decide(state: State) -> tuple[Record, Sequence[Draft]]:
            before = self._latest(state, external_id)
            made = at if created_at is None else created_at
            if before is not None:
                made = before.content["created_at"]
            note = _Note(external_id, *renew(before), made)
            record = self._record(record_id, note, at)
            drafts = list(writing(state, record, at=at, reason="noted", actor=self.name, salt=salt))
            if before is not None:
                part = Part.of(before.id, {"by": record_id}, salt=salt)
                kind = ChangeKind.SUPERSEDED
                drafts.append(
                    Draft(kind=kind, at=at, reason=kind.value, actor=self.name, parts=(part,))
                )
            return record, drafts

        return _remembered(self._session.write(decide))

    def _record(self, record_id: str, note: _Note, at: Instant) -> Record:
        slot = self._slot(note.external_id)
        return Record(
            id=record_id,
            kind=Kind.FACT,
            slot=slot,
            topic=slot,
            content={"form": _FORM, "store": self.name, **note._asdict()},
            valid=Interval(at),
            receipts=(_receipt(note.text, self.name, note.external_id, at),),
        )

    def _change(
        self, external_id: str, found: Status, drafted: Callable[[Record], Sequence[Draft]]
    ) -> None:
        def decide(state: State) -> tuple[None, Sequence[Draft]]:
            record = self._latest(state, external_id)
            if record is None:
                raise InvalidValue("external_id", external_id, "name a memory that the store has")
            return None, drafted(record) if record.status is found else ()

        self._session.write(decide)

    def _slot(self, external_id: str) -> str:
        return f"{_FORM}:{self.name}/{external_id}"

    def _latest(self, state: State, external_id: str) -> Record | None:
        versions = state.in_slot("", self._slot(external_id))
        return versions[-1] if versions else None

    def _is_mine(self, record: Record) -> bool:
        content = record.content
        return content.get("form") == _FORM and content.get("store") == self.name


def _remembered(record: Record, *, score: float | None = None) -> Remembered:
    content = record.content
    sources = content["metadata"].get("source_ids", ())
    return Remembered(
        external_id=content["external_id"],
        text=content["text"],
        score=score,
        created_at=content["created_at"],
        updated_at=record.valid.since,
        valid_from=record.valid.since,
        valid_until=record.valid.until,
        source_ids=tuple(one for one in sources if isinstance(one, str)),
        revision=record.id,
        metadata=content["metadata"],
    )


def _receipt(text: str, store: str, external_id: str, at: Instant) -> Receipt:
    return Receipt(
        observer=store,
        source=Source.probe("memory", f"{store}/{external_id}"),
        at=at,
        digest=text_digest(text),
        outcome=Outcome.CONFIRMS,
    )
