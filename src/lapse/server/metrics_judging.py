"""What one client does with the suggestions it was given, as its service can see it.

A service sees requests and nothing of the memory behind them, so every number is about what a
client *showed*. Numbered as they are judged, when a request of a client arrives:

1. A request is about a suggestion when it is to the same operation and has those fields of `when`
   that the fix does not set. The first one after the suggestion is the *retry*. It followed the
   suggestion if it carries all its parameters, and ignored it if it carries those of none that came
   along.
2. A later one *shows* a fix when it carries the parameters (*reused*), or has all of `when`
   (*repeated*: the same mistake). One that does neither says nothing.
3. A fix has *lapsed* when a row it rests on has another version now.
4. When tables moved under a fix, the first request that shows it judges the client's eviction, once
   for each move: lapsed and repeated is *right*, lapsed and reused is *missed*, repeated though
   nothing lapsed is *needless*, reused and not lapsed is *kept*.
5. A client that has had no answer since the move cannot know of it; if it reuses a lapsed fix then,
   that is *unavoidable*, and judges nothing.

Values are kept as keyed digests. The key is made at the start and goes with the process.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import CacheHint
from lapse.errors import InvalidValue
from lapse.ledger import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lapse.contract import Registry, Suggestion
    from lapse.ledger import JsonObject

__all__ = ["Behaviour", "Client", "Digests", "Scene", "Seen", "Shown"]

Fields = tuple[tuple[str, bytes, bytes], ...]
"""Dotted paths with the digests of their values, as JSON and as the text of a form."""

Note = Callable[["Seen", str], None]
"""Told what was seen, and of which action."""

_DEEPEST = 16


class Seen(StrEnum):
    """One thing that a request showed."""

    FOLLOWED = "followed"
    IGNORED = "ignored"
    REUSED = "reused"
    REPEATED = "repeated"
    SAVED = "saved"
    RIGHT = "right"
    MISSED = "missed"
    NEEDLESS = "needless"
    KEPT = "kept"
    UNAVOIDABLE = "unavoidable"


class Behaviour(StrEnum):
    """What a client was seen to do; the last line that applies.

    They are behaviours, not identities: two programs that do the same are one.
    """

    UNTRIED = "untried"
    """It was given nothing, or did nothing about it yet."""
    IGNORES = "ignores"
    """No retry carried a suggestion: it consumes Level 0."""
    FOLLOWS = "follows"
    """Retries carry suggestions, later requests do not: it reads, and does not remember."""
    REMEMBERS = "remembers"
    """It was right at the first attempt with what it was told before."""
    DROPS_TABLES = "drops_tables"
    """It remembers, and forgot a fix whose rows had not moved: it compares tables."""
    ASKS_ROWS = "asks_rows"
    """It remembers, and asks what changed: it compares rows."""
    KEEPS_LAPSED = "keeps_lapsed"
    """It used a fix whose row had moved after it was told: it remembers and compares nothing."""


class Digests:
    """Turns values into keyed digests."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, value: bytes) -> bytes:
        """The digest of some bytes."""
        return hashlib.blake2b(value, digest_size=8, key=self._key).digest()

    def fields(self, members: JsonObject) -> Fields:
        """The leaves of an object, as dotted paths and digests."""
        return tuple((path, *self.pair(value)) for path, value in _leaves(members))

    def pair(self, value: object) -> tuple[bytes, bytes]:
        """The digests of one value, as JSON and as the text of a form."""
        return self._value(value), self._text(value)

    def matches(self, request: JsonObject, fields: Fields, *, texts: bool) -> bool:
        """Whether a request has these values; in one made of texts, as texts."""
        return all(
            self._text(_member(request, path)) == text
            if texts
            else self._value(_member(request, path)) == value
            for path, value, text in fields
        )

    def _value(self, value: object) -> bytes:
        try:
            return self.of(canonical(value))
        except InvalidValue:
            return self.of(repr(value).encode(errors="backslashreplace"))

    def _text(self, value: object) -> bytes:
        if value is None or isinstance(value, str):
            return self._value(value)
        try:
            return self._value(canonical(value).decode())
        except InvalidValue:
            return self._value(value)


@dataclass(slots=True)
class _Given:
    """A suggestion that a client was given."""

    action: str
    sets: Fields
    when: Fields
    rest: Fields
    rows: tuple[tuple[str, str, str | None], ...]
    tables: tuple[tuple[str, str], ...]
    group: int
    due: bool = True
    judged: tuple[str | None, ...] | None = None

    def lapsed(self, registry: Registry) -> bool:
        """Whether a row has moved; for a fix that names none, whether a table has."""
        if self.rows:
            return any(registry.row_version(t, k) != v for t, k, v in self.rows)
        return self.moved(registry) is not None

    def moved(self, registry: Registry) -> tuple[str | None, ...] | None:
        """The versions now of the tables it rests on; None when they are those it came with."""
        held = registry.tables
        now = tuple(held[t].version if t in held else None for t, _ in self.tables)
        return None if now == tuple(version for _, version in self.tables) else now


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One request, and what it is judged by.

    Attributes:
        request: its members.
        texts: whether their values are texts.
        passed: whether it was accepted.
        registry: the service's tables now.
        reloads: how many reloads there have been.
        digests: makes values comparable.
        note: told what was seen.
    """

    request: JsonObject
    texts: bool
    passed: bool
    registry: Registry
    reloads: int
    digests: Digests
    note: Note

    def has(self, fields: Fields) -> bool:
        """Whether the request has these values."""
        return self.digests.matches(self.request, fields, texts=self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a client was seen to do, in numbers; it holds nothing that tells who it is.

    Attributes:
        seen: how often each thing was seen.
        questions: how often it asked what changed.
        revalidations: how often it asked for the versions with a tag.
        behaviour: what that amounts to.
    """

    seen: Mapping[Seen, int]
    questions: int
    revalidations: int
    behaviour: Behaviour


@dataclass(slots=True)
class Client:
    """One client's suggestions, as digests. Single-owner; `lapse.server.metrics` holds the lock."""

    most: int
    seen: dict[Seen, int] = field(default_factory=dict[Seen, int])
    questions: int = 0
    revalidations: int = 0
    told: int = -1
    """The number of reloads when it had its last answer."""
    _given: OrderedDict[tuple[bytes, bytes], _Given] = field(
        default_factory=OrderedDict[tuple[bytes, bytes], _Given]
    )
    _groups: int = 0

    def concerns(self, operation: bytes) -> bool:
        """Whether it was given something for an operation."""
        return any(key[0] == operation for key in self._given)

    def give(self, operation: bytes, suggestions: Sequence[Suggestion], digests: Digests) -> None:
        """Take note of the suggestions of one refusal; the oldest ones give way."""
        self._groups += 1
        for suggestion in suggestions:
            given = _given(suggestion, digests, self._groups)
            key = (operation, digests.of(repr((given.action, given.when)).encode()))
            self._given.pop(key, None)
            self._given[key] = given
            if len(self._given) > self.most:
                self._given.popitem(last=False)

    def judge(self, operation: bytes, scene: Scene) -> None:
        """Judge a request to an operation that concerns this client, as numbered above."""
        retried: dict[int, list[tuple[_Given, bool]]] = {}
        for key, given in list(self._given.items()):
            if key[0] != operation or not scene.has(given.rest):
                continue
            carries = scene.has(given.sets)
            if given.due:
                given.due = False
                retried.setdefault(given.group, []).append((given, carries))
                if not given.tables:
                    del self._given[key]
            elif carries or scene.has(given.when):
                aware = self.told == scene.reloads
                for what in _shown(given, scene, carries=carries, aware=aware):
                    self._note(what, given.action, scene.note)
        for group in retried.values():
            followed = [given for given, carries in group if carries]
            for given in followed:
                self._note(Seen.FOLLOWED, given.action, scene.note)
            if not followed:
                self._note(Seen.IGNORED, group[0][0].action, scene.note)

    def _note(self, what: Seen, action: str, note: Note) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1
        note(what, action)

    def shown(self) -> Shown:
        """What it was seen to do."""
        return Shown(
            seen=dict(self.seen),
            questions=self.questions,
            revalidations=self.revalidations,
            behaviour=self._behaviour(),
        )

    def _behaviour(self) -> Behaviour:
        seen = self.seen
        if seen.get(Seen.MISSED):
            return Behaviour.KEEPS_LAPSED
        if seen.get(Seen.REUSED):
            if self.questions:
                return Behaviour.ASKS_ROWS
            return Behaviour.DROPS_TABLES if seen.get(Seen.NEEDLESS) else Behaviour.REMEMBERS
        if seen.get(Seen.FOLLOWED):
            return Behaviour.FOLLOWS
        return Behaviour.IGNORES if seen.get(Seen.IGNORED) else Behaviour.UNTRIED


def _shown(given: _Given, scene: Scene, *, carries: bool, aware: bool) -> Iterator[Seen]:
    lapsed = given.lapsed(scene.registry)
    moved = given.moved(scene.registry)
    if lapsed and carries and not aware:
        yield Seen.UNAVOIDABLE
        return
    if not lapsed:
        yield Seen.REUSED if carries else Seen.REPEATED
        if carries and scene.passed:
            yield Seen.SAVED
    if moved is not None and moved != given.judged and aware:
        given.judged = moved
        if lapsed:
            yield Seen.MISSED if carries else Seen.RIGHT
        else:
            yield Seen.KEPT if carries else Seen.NEEDLESS


def _given(suggestion: Suggestion, digests: Digests, group: int) -> _Given:
    sets = digests.fields(suggestion.parameters)
    # A condition's values are compared whole: an object in it is one value.
    when = tuple((path, *digests.pair(value)) for path, value in (suggestion.when or {}).items())
    set_paths = {path for path, _, _ in sets}
    kept = suggestion.cache_hint is CacheHint.CACHEABLE
    return _Given(
        action=suggestion.type,
        sets=sets,
        when=when,
        rest=tuple(one for one in when if one[0] not in set_paths),
        rows=tuple((r.table, r.key, r.version) for r in suggestion.rows) if kept else (),
        tables=tuple((t.table, t.version) for t in suggestion.tables) if kept else (),
        group=group,
    )


def _leaves(members: JsonObject) -> Iterator[tuple[str, Any]]:
    pending: list[tuple[str, Any, int]] = [(name, v, 1) for name, v in members.items()]
    while pending:
        path, value, depth = pending.pop()
        if isinstance(value, dict) and value and depth < _DEEPEST:
            inner = cast("dict[str, Any]", value)
            pending += [(f"{path}.{name}", v, depth + 1) for name, v in inner.items()]
        else:
            yield path, value


def _member(request: JsonObject, path: str) -> Any:
    """The member at a dotted path, a literal name first; None when it is not there (C-SUG-09)."""
    if path in request:
        return request[path]
    here: Any = request
    for name in path.split("."):
        if not isinstance(here, dict):
            return None
        here = cast("dict[str, Any]", here).get(name)
    return here
