"""What a guarded batch asks of the store inside, step by step, whoever does the asking.

`Steps.run` is a generator: it yields operations and is sent their results, so that one text serves
the sync and the async store. It reads first, goes on searching where too little stands, refreshes
what is served, and writes last: to the store, then to the ledger. If it breaks off in between, what
was put is not served until it is attested.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from lapse.admission import Ending
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, LIVE, Scope
from lapse.stores.drafts import Write
from lapse.stores.entries import Provenance
from lapse.stores.guarded import MOST_FETCHED
from lapse.stores.langgraph_items import (
    MARK,
    memory_name,
    place_of,
    plain,
    remembered_item,
    time_of,
)
from lapse.stores.reading import Legacy, Standing

# isort: split
from langgraph.store.base import GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from langgraph.store.base import Op, Result

    from lapse.ledger import Instant
    from lapse.stores.port import Remembered
    from lapse.stores.sidecar import Sidecar

__all__ = ["Manner", "Steps"]

_GROWTH = 4
"""How many times as many are fetched when too few of them stand."""

_PAGE = 1_000
"""Namespaces that are fetched at once."""

_UNSAID = Provenance()

_FOUND = Provenance(writer="unknown", authority="")
"""What is said of a memory that nobody wrote down and that is deleted."""

_Place = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a guarded store serves and writes.

    Attributes:
        said: what is said of the memories that are put.
        who: who asks; memories of a limited scope are served to whom they are for.
        legacy: what to do with items that the ledger never saw; admitted ones carry the member
            ``_lapse`` in their value.
        deletes: delete in the store, too; the ledger keeps what it knows.
        text: the field of a value that says the memory.
        most_fetched: items that one search may fetch beyond what it is asked for.
    """

    said: Provenance = _UNSAID
    who: Scope = EVERYWHERE
    legacy: Legacy = Legacy.REFUSE
    deletes: bool = False
    text: str = "text"
    most_fetched: int = MOST_FETCHED

    def __post_init__(self) -> None:
        """Refuse a bound that is none."""
        if self.most_fetched < 0:
            raise InvalidValue("most_fetched", self.most_fetched, "pass 0 or more")


@dataclass(slots=True)
class _Search:
    """A search on its way: how many have to stand, how many were asked for, what stands so far."""

    op: SearchOp
    wanted: int
    asked: int
    had: int = -1
    served: list[Item] = field(default_factory=list["Item"])
    done: bool = False

    def asking(self) -> SearchOp:
        return self.op._replace(limit=self.asked, offset=0, refresh_ttl=False)

    def result(self) -> list[Item]:
        return self.served[self.op.offset : self.wanted]


class Steps:
    """One batch on its way through a store and its ledger."""

    def __init__(self, sidecar: Sidecar, manner: Manner, *, ttl: bool) -> None:
        self._sidecar = sidecar
        self._manner = manner
        self._ttl = ttl
        self._at: Instant = sidecar.now()

    def run(self, ops: Sequence[Op]) -> Generator[list[Op], list[Result], list[Result]]:
        """Carry out a batch.

        Yields:
            Operations for the store inside; send their results.

        Raises:
            InvalidValue: a value cannot be kept; nothing was written.
            StoreError: the ledger could not be read or written.
        """
        results: list[Result] = [None] * len(ops)
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        values = {place: self._value(op) for place, op in puts.items()}
        gets = {i: op for i, op in enumerate(ops) if isinstance(op, GetOp)}
        searches = {i: self._search(op) for i, op in enumerate(ops) if isinstance(op, SearchOp)}
        before = yield from self._read(results, gets, searches, list(puts))
        for i, op in enumerate(ops):
            if isinstance(op, ListNamespacesOp):
                results[i] = yield from self._namespaces(op)
        yield from self._refresh(results, ops)
        for place in (place for place in puts if values[place] is not None):
            self._sidecar.check_write(memory_name(*place), self._manner.said)
        if puts:
            asked = [
                op if values[place] is None else op._replace(value=values[place])
                for place, op in puts.items()
                if values[place] is not None or self._manner.deletes
            ]
            if asked:
                yield cast("list[Op]", asked)
            self._wrote(values, before)
        return results

    # -- reading -----------------------------------------------------------------------------

    def _read(
        self,
        results: list[Result],
        gets: dict[int, GetOp],
        searches: dict[int, _Search],
        written: list[_Place],
    ) -> Generator[list[Op], list[Result], dict[_Place, Item | None]]:
        """Gets, searches, and what stands where something is going to be put."""
        asked: list[Op] = [op._replace(refresh_ttl=False) for op in gets.values()]
        asked += [search.asking() for search in searches.values()]
        asked += [GetOp(*place, refresh_ttl=False) for place in written]
        found = (yield asked) if asked else []
        items = cast("list[Item | None]", found[: len(gets)])
        for i, item in zip(gets, self._sift(items), strict=True):
            results[i] = item
        pages = cast("list[list[SearchItem]]", found[len(gets) : len(gets) + len(searches)])
        waiting: list[tuple[_Search, list[SearchItem]]]
        waiting = list(zip(searches.values(), pages, strict=True))
        while waiting:
            for search, page in waiting:
                self._judge(search, page)
            short: list[_Search] = [search for search, _ in waiting if not search.done]
            more = (yield [search.asking() for search in short]) if short else []
            waiting = list(zip(short, cast("list[list[SearchItem]]", more), strict=True))
        for i, search in searches.items():
            results[i] = cast("list[SearchItem]", search.result())
        there = cast("list[Item | None]", found[len(gets) + len(searches) :])
        return dict(zip(written, there, strict=True))

    def _search(self, op: SearchOp) -> _Search:
        wanted = max(op.offset, 0) + max(op.limit, 0)
        return _Search(op._replace(offset=max(op.offset, 0)), wanted, wanted)

    def _judge(self, search: _Search, page: list[SearchItem]) -> None:
        search.served = [item for item in self._sift(page) if item is not None]
        most = search.wanted + self._manner.most_fetched
        # A store that joins vectors to items may stop too early: then more is asked for once more.
        sure = search.op.query is None or len(page) <= search.had
        exhausted = len(page) < search.asked and sure
        enough = len(search.served) >= search.wanted or exhausted
        search.done = enough or search.asked >= most
        search.had = len(page)
        search.asked = min(max(search.asked, 1) * _GROWTH, most)

    def _sift(self, items: Sequence[Item | None]) -> list[Item | None]:
        """Each item as it is served, in its place; None where it is left out."""
        memories = [
            None if item is None else remembered_item(item, self._manner.text) for item in items
        ]
        there = [memory for memory in memories if memory is not None]
        weighed = iter(self._sidecar.weigh(there, at=self._at, who=self._manner.who))
        served: list[Item | None] = []
        for item, memory in zip(items, memories, strict=True):
            if item is None or memory is None:
                served.append(None)
                continue
            standing, record, _ = next(weighed)
            created = None if record is None else record.content["created_at"]
            if standing is Standing.ACTIVE:
                served.append(_shown(item, dict(memory.metadata), created))
            elif standing is Standing.LEGACY and self._manner.legacy is Legacy.ADMIT:
                marked = {**memory.metadata, MARK: {"standing": standing.value}}
                served.append(_shown(item, marked, None))
            else:
                served.append(None)
        return served

    def _refresh(
        self, results: list[Result], ops: Sequence[Op]
    ) -> Generator[list[Op], list[Result], Any]:
        """Let live on what is served, and nothing else."""
        if not self._ttl:
            return
        alive: dict[_Place, None] = {}
        for op, result in zip(ops, results, strict=True):
            if isinstance(op, GetOp | SearchOp) and op.refresh_ttl:
                shown = result if isinstance(result, list) else [result]
                places = [(i.namespace, i.key) for i in shown if isinstance(i, Item)]
                alive.update(dict.fromkeys(places))
        if alive:
            yield [GetOp(*place, refresh_ttl=True) for place in alive]

    def _namespaces(self, op: ListNamespacesOp) -> Generator[list[Op], list[Result], Any]:
        """The namespaces in which something stands."""
        every: list[tuple[str, ...]] = []
        while True:
            page = op._replace(max_depth=None, limit=_PAGE, offset=len(every))
            (found,) = yield [page]
            every += cast("list[tuple[str, ...]]", found)
            if len(cast("list[Any]", found)) < _PAGE:
                break
        standing = self._standing_in()
        if self._manner.legacy is Legacy.ADMIT:
            for doubtful in [one for one in every if one not in standing]:
                search = self._search(SearchOp(doubtful, limit=1))
                while not search.done:
                    (items,) = yield [search.asking()]
                    self._judge(search, cast("list[SearchItem]", items))
                standing |= {item.namespace for item in search.served}
        kept = [one for one in every if one in standing]
        if op.max_depth is not None:
            kept = list(dict.fromkeys(one[: op.max_depth] for one in kept))
        return kept[op.offset : op.offset + op.limit]

    def _standing_in(self) -> set[tuple[str, ...]]:
        found: set[tuple[str, ...]] = set()
        for record in self._sidecar.active(at=self._at, who=self._manner.who):
            place = place_of(record.content["external_id"])
            if place is not None:
                found.add(place[0])
        return found

    # -- writing -----------------------------------------------------------------------------

    @staticmethod
    def _value(op: PutOp) -> dict[str, Any] | None:
        if op.value is None:
            return None
        if MARK in op.value:
            raise InvalidValue("value", MARK, "use another name; this one holds our marks")
        return plain(op.value)

    def _wrote(
        self, values: dict[_Place, dict[str, Any] | None], before: dict[_Place, Item | None]
    ) -> None:
        writes: list[Write] = []
        for place, value in values.items():
            item = before[place]
            was = None if item is None else remembered_item(item, self._manner.text)
            if value is None:
                self._deleted(place, was)
            else:
                writes.append(Write(self._memory(place, value, item), self._manner.said, was))
        self._sidecar.remember_all(writes)

    def _memory(self, place: _Place, value: dict[str, Any], before: Item | None) -> Remembered:
        created = time_of(self._at) if before is None else before.created_at
        item = Item(
            value=value,
            namespace=place[0],
            key=place[1],
            created_at=created,
            updated_at=time_of(self._at),
        )
        memory = remembered_item(item, self._manner.text)
        if memory is None:  # `_value` made it plain
            raise InvalidValue("value", value, "pass plain JSON")
        return memory

    def _deleted(self, place: _Place, was: Remembered | None) -> None:
        """Close it; what nobody wrote down is written down first, so that it stays closed."""
        if was is not None:
            ((standing, _, _),) = self._sidecar.weigh([was], at=self._at)
            if standing in (Standing.LEGACY, Standing.DRIFT):
                self._sidecar.remember(was, _FOUND)
        name = memory_name(*place)
        history = self._sidecar.history(name)
        if history and history[-1].status in LIVE:
            self._sidecar.end(name, Ending.CLOSED, by=self._manner.said.writer, why="deleted")


def _shown(item: Item, value: dict[str, Any], created: Instant | None) -> Item:
    """An item of its own for who asked, with when it was first written."""
    first = item.created_at if created is None else time_of(created)
    if isinstance(item, SearchItem):
        return SearchItem(item.namespace, item.key, value, first, item.updated_at, score=item.score)
    return Item(
        value=value,
        key=item.key,
        namespace=item.namespace,
        created_at=first,
        updated_at=item.updated_at,
    )
