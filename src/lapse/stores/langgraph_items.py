"""LangGraph's items as memories, and the adapter over any of its stores.

A memory is an item's whole value: the field ``text`` is what it says (the value as JSON where there
is none), and the digest of the value is its revision, so a change of another field is seen, too.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from lapse.errors import InvalidValue, MissingExtra
from lapse.ledger import decode, digest, encode
from lapse.stores.port import Capabilities, Remembered

try:
    from langgraph.store.base import BaseStore, Item, SearchItem
    from langgraph.store.memory import InMemoryStore
except ImportError:  # pragma: no cover - the extra is installed wherever this is measured
    feature = "the guard for LangGraph's stores"
    raise MissingExtra(feature, "langgraph") from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lapse.ledger import Ids, Instant, JsonObject

__all__ = ["MARK", "LangGraphStore", "memory_name", "place_of", "plain", "remembered_item"]

MARK = "_lapse"
"""The member of a value that holds our mark; it is no part of what the memory says."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = 2**53
"""The greatest integer up to which doubles are exact."""

_GREATEST = 2**1023
"""An integer that a double can still hold."""

_ALL = 2**31 - 1
"""A limit that no store reaches and every database can hold."""


class LangGraphStore:
    """Implements `MemoryStore` over one namespace of a LangGraph store, and all below it.

    Args:
        store: any `BaseStore`.
        namespace: where new memories go.
        ids: makes up their keys.
        name: what the store is called in the ledger.
        text: the field of a value that says the memory; values without it are read as JSON.

    Raises:
        InvalidValue: the namespace is empty.
    """

    def __init__(
        self,
        store: BaseStore,
        namespace: tuple[str, ...],
        *,
        ids: Ids,
        name: str = "langgraph",
        text: str = "text",
    ) -> None:
        if not namespace:
            raise InvalidValue("namespace", namespace, "name where new memories go")
        self.name = name
        self._store = store
        self._namespace = namespace
        self._ids = ids
        self._text = text
        self.capabilities = Capabilities(
            list_all=True,
            text_search=bool(getattr(store, "index_config", None)),
            soft_invalidate=True,
            native_sources=True,
            versions=True,
            persistent=not isinstance(store, InMemoryStore),
            async_=True,
        )

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Put an item of a new key; the metadata are the other fields of its value."""
        key = self._ids.new()
        return self._put(self._namespace, key, {**(metadata or {}), self._text: text})

    def get(self, external_id: str) -> Remembered | None:
        """One item; None when there is none of this name, or its value is no JSON."""
        there = self._item(external_id)
        return None if there is None else remembered_item(there, self._text)

    def list(self) -> Iterator[Remembered]:
        """Every item of the namespace and below; what is no JSON is passed over."""
        # In one go: pages may overlap where the store orders by a time that many items share.
        for item in self._store.search(self._namespace, limit=_ALL, refresh_ttl=False):
            memory = remembered_item(item, self._text)
            if memory is not None:
                yield memory

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """What the store's own search finds; it has to have an index."""
        self.capabilities.demand("text_search", self.name)
        found = self._found(query, limit)
        if len(found) < limit:  # a store that joins vectors to items may stop too early
            found = self._found(query, limit * 4)[:limit]
        memories = (remembered_item(item, self._text) for item in found)
        return [memory for memory in memories if memory is not None]

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Put another value under the same key."""
        item = self._there(external_id)
        kept = unmarked(item.value) if metadata is None else metadata
        return self._put(item.namespace, item.key, {**kept, self._text: text})

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Put a mark beside what the value says; the store indexes it again as by default."""
        item = self._there(external_id)
        mark = {"lapsed": {"reason": reason, "by": by}}
        self._store.put(item.namespace, item.key, {**unmarked(item.value), MARK: mark})

    def restore(self, external_id: str) -> None:
        """Put the value without the mark."""
        item = self._there(external_id)
        if MARK in item.value:
            self._store.put(item.namespace, item.key, unmarked(item.value))

    def export(self) -> list[JsonObject]:
        """Every item: namespace, key and value, marks included."""
        exported: list[JsonObject] = []
        for memory in self.list():
            item = self._item(memory.external_id)
            if item is not None:
                value = plain(item.value)
                there = {"namespace": [*item.namespace], "key": item.key, "value": value}
                exported.append(there)
        return exported

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Put what `export` gave where it was; what is there as it stands is not put again.

        Raises:
            InvalidValue: one of them is not what `export` gives; those before it were put.
        """
        return [self._imported(one) for one in exported]

    # -- inside ------------------------------------------------------------------------------

    def _found(self, query: str, limit: int) -> list[SearchItem]:
        return self._store.search(self._namespace, query=query, limit=limit, refresh_ttl=False)

    def _imported(self, one: JsonObject) -> Remembered:
        namespace, key, value = one.get("namespace"), one.get("key"), one.get("value")
        if not (isinstance(namespace, list) and isinstance(key, str) and isinstance(value, dict)):
            raise InvalidValue("exported", one, "pass what export() gives")
        place = tuple(map(str, cast("list[Any]", namespace)))
        put = cast("dict[str, Any]", value)
        there = self._store.get(place, key, refresh_ttl=False)
        if there is None or plain(there.value) != put:
            self._store.put(place, key, put)
        return self._read(place, key)

    def _put(self, namespace: tuple[str, ...], key: str, value: Mapping[str, Any]) -> Remembered:
        if MARK in value:
            raise InvalidValue("metadata", MARK, "use another name; this one holds our marks")
        self._store.put(namespace, key, plain(value))
        return self._read(namespace, key)

    def _read(self, namespace: tuple[str, ...], key: str) -> Remembered:
        memory = self.get(memory_name(namespace, key))
        if memory is None:
            raise InvalidValue("key", key, "somebody removed it meanwhile; write it again")
        return memory

    def _item(self, external_id: str) -> Item | None:
        place = place_of(external_id)
        if place is None or place[0][: len(self._namespace)] != self._namespace:
            return None
        return self._store.get(*place, refresh_ttl=False)

    def _there(self, external_id: str) -> Item:
        item = self._item(external_id)
        if item is None:
            raise InvalidValue("external_id", external_id, "name a memory that the store has")
        return item


def memory_name(namespace: tuple[str, ...], key: str) -> str:
    """An item's name in the ledger: namespace and key as a JSON array."""
    return encode([*namespace, key]).decode()


def place_of(external_id: str) -> tuple[tuple[str, ...], str] | None:
    """Namespace and key of a name that `memory_name` gave; None for any other."""
    try:
        labels = decode(external_id.encode())
    except InvalidValue:
        return None
    match labels:
        case [*namespace, str(key)] if namespace and all(isinstance(n, str) for n in namespace):
            return tuple(namespace), key
        case _:
            return None


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value as a store that keeps JSON gives it back.

    Raises:
        InvalidValue: it holds something that JSON cannot carry.
    """
    copied: dict[str, Any] = decode(encode(dict(value)))
    return copied


def unmarked(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value without our mark."""
    return {name: member for name, member in value.items() if name != MARK}


def remembered_item(
    item: Item, text: str, *, value: Mapping[str, Any] | None = None
) -> Remembered | None:
    """An item as a memory; None when its value is no JSON, so that nobody could vouch for it.

    Args:
        item: as the store gives it.
        text: the field that says the memory.
        value: another value than the item's, for one that is being put in its place.
    """
    try:
        said = plain(unmarked(item.value if value is None else value))
        whole = encode(_normal(said))
    except (InvalidValue, RecursionError):
        return None
    words = said.get(text)
    sources = said.get("source_ids")
    names = cast("list[Any]", sources) if isinstance(sources, list) else []
    return Remembered(
        external_id=memory_name(item.namespace, item.key),
        text=words if isinstance(words, str) else whole.decode(),
        score=getattr(item, "score", None),
        created_at=instant_of(item.created_at),
        updated_at=instant_of(item.updated_at),
        source_ids=tuple(name for name in names if isinstance(name, str)),
        revision=digest(whole),
        metadata=said,
    )


def _normal(value: Any) -> Any:
    """A value whose numbers are written in one way, whatever the store made of them.

    PostgreSQL gives 1e16 as an integer and has no negative zero, and a store that keeps doubles
    gives a great integer as one.
    """
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _normal(member) for name, member in members.items()}
        case list():
            return [_normal(member) for member in cast("list[Any]", value)]
        case float() if value.is_integer() and abs(value) <= _EXACT:
            return int(value)
        case int() if abs(value) > _EXACT:
            return float(value) if abs(value) < _GREATEST else str(value)
        case _:
            return value


def instant_of(time: datetime) -> Instant:
    """Microseconds since 1970; a time without a zone is UTC, as the stores write it."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(
        microseconds=1
    )


def time_of(instant: Instant) -> datetime:
    """The time of an instant, in UTC."""
    return _EPOCH + timedelta(microseconds=instant)
