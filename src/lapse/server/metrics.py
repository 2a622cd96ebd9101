"""Counts what a service can see of its clients: who follows, who remembers, who forgets too much.

::

    metrics = Metrics(contract)
    app = Measured(app, contract, metrics)       # lapse.server.metrics_seat

Nothing identifies a client beyond this process: it is told from others by a keyed digest of what it
authenticates with, else of its address and its user agent, and the key is made at the start.
Of requests, digests of the fields that an earlier suggestion named are compared and dropped; no
body is kept. Memory is bounded in every direction, and what was forgotten is counted.
How each number is defined stands at `lapse.server.metrics_judging`.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from lapse.contract import diff
from lapse.errors import InvalidValue
from lapse.server.metrics_judging import Behaviour, Client, Digests, Scene, Seen, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lapse.contract import Registry, Suggestion
    from lapse.ledger import JsonObject
    from lapse.server.contract import Contract
    from lapse.server.gateway_refusals import Mended

__all__ = ["Behaviour", "Bounds", "Exchange", "Metrics", "Seen", "Shown", "Snapshot"]

_ERRORS: Final = 400
_CLASSES: Final = {first: f"{first}xx" for first in range(1, 6)}
OTHER: Final = "other"
"""What every name beyond a bound is counted as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is kept, and how many names there may be.

    Attributes:
        clients: how many are told apart; those not heard of for longest are forgotten first.
        suggestions: how many are kept for one client.
        body_bytes: the longest request or refusal that is looked into.
        names: how many names of one kind (actions, tables, clients) are counted apart.
    """

    clients: int = 1_000
    suggestions: int = 64
    body_bytes: int = 256 * 1024
    names: int = 64

    def __post_init__(self) -> None:
        """Refuse a bound that would keep nothing."""
        for name in ("clients", "suggestions", "body_bytes", "names"):
            if getattr(self, name) < 1:
                raise InvalidValue(name, getattr(self, name), "pass 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer, as far as they are looked at.

    Attributes:
        who: what tells the client from others; only a digest of it is kept.
        operation: what was asked for.
        request: the request's members; None when they were not read.
        texts: whether its values are texts, as in a query or a form.
        status: the answer's.
        reloads: `Metrics.reloads` when the request came: no answer is later than that.
        suggestions: what the answer suggested.
        name: what the service calls the client, if it names any.
    """

    who: bytes
    operation: str
    request: JsonObject | None = None
    texts: bool = False
    status: int
    reloads: int
    suggestions: Sequence[Suggestion] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All counts at one moment.

    Attributes:
        counts: by metric and label values, in the order of `LABELS`.
        behaviours: how many of the clients that are known now do what.
    """

    counts: Mapping[tuple[str, tuple[str, ...]], int]
    behaviours: Mapping[Behaviour, int]

    def total(self, metric: str, *labels: str) -> int:
        """A metric's sum over all labels that begin like these."""
        return sum(
            count
            for (name, values), count in self.counts.items()
            if name == metric and values[: len(labels)] == labels
        )

    @property
    def precision(self) -> float | None:
        """Of the evictions that were seen, the share that was right; None when none was seen."""
        return self._share(Seen.RIGHT, Seen.NEEDLESS)

    @property
    def recall(self) -> float | None:
        """Of the lapsed fixes that were seen, the share that was evicted; None when none was."""
        return self._share(Seen.RIGHT, Seen.MISSED)

    def _share(self, good: Seen, bad: Seen) -> float | None:
        right, wrong = self.total("evictions", good.value), self.total("evictions", bad.value)
        return right / (right + wrong) if right + wrong else None


LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "answers": ("class",),
    "suggestions_given": ("client", "action"),
    "suggestions_followed": ("client", "action"),
    "suggestions_ignored": ("client", "action"),
    "fixes_reused": ("client", "action"),
    "mistakes_repeated": ("client", "action"),
    "requests_saved": ("client", "action"),
    "evictions": ("seen", "client"),
    "questions": ("endpoint", "answer"),
    "reloads": ("table",),
    "rows_changed": ("table",),
    "clients_forgotten": (),
    "gateway_faults": ("kind", "cure"),
    "gateway_failures": ("kind",),
}
"""The metrics, and what tells the counts of one apart."""

_COUNTED: Final = {
    Seen.FOLLOWED: "suggestions_followed",
    Seen.IGNORED: "suggestions_ignored",
    Seen.REUSED: "fixes_reused",
    Seen.REPEATED: "mistakes_repeated",
    Seen.SAVED: "requests_saved",
}
_EVICTIONS: Final = (Seen.RIGHT, Seen.MISSED, Seen.NEEDLESS, Seen.KEPT, Seen.UNAVOIDABLE)


class Metrics:
    """The counts of one service. Safe to use from any thread.

    Args:
        contract: the service's.
        bounds: how much is kept.
        alias: renames tables where they are shown; None: their own names.
        key: keys the digests; a random one when None.
    """

    def __init__(
        self,
        contract: Contract,
        *,
        bounds: Bounds | None = None,
        alias: Callable[[str], str] | None = None,
        key: bytes | None = None,
    ) -> None:
        self.bounds = bounds or Bounds()
        self.contract = contract
        self._alias = alias
        self._digests = Digests(secrets.token_bytes(32) if key is None else key)
        self._lock = Lock()
        self._clients: OrderedDict[bytes, Client] = OrderedDict()
        self._counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._names: dict[str, set[str]] = {}
        self.reloads = 0
        contract.watch(self._reloaded)

    def concerns(self, who: bytes, operation: str) -> bool:
        """Whether the client's next request to an operation is worth reading."""
        if not self._clients:
            return False
        with self._lock:
            client = self._clients.get(self._digests.of(who))
            return client is not None and client.concerns(self._digests.of(operation.encode()))

    def exchanged(self, exchange: Exchange) -> None:
        """Count one exchange, and judge what it shows."""
        with self._lock:
            self._add("answers", _CLASSES.get(exchange.status // 100, OTHER))
            client = self._client(exchange.who, make=bool(exchange.suggestions))
            if client is None:
                return
            operation = self._digests.of(exchange.operation.encode())
            registry = self.contract.registry
            name = self._bounded("client", exchange.name or "any")
            if exchange.request is not None:
                scene = Scene(
                    request=exchange.request,
                    texts=exchange.texts,
                    passed=exchange.status < _ERRORS,
                    registry=registry,
                    reloads=exchange.reloads,
                    digests=self._digests,
                    note=lambda what, action: self._note(what, action, name),
                )
                client.judge(operation, scene)
            if exchange.suggestions:
                client.give(operation, exchange.suggestions, self._digests)
                for suggestion in exchange.suggestions:
                    action = self._bounded("action", suggestion.type)
                    self._add("suggestions_given", name, action)
            client.told = exchange.reloads

    def asked(self, who: bytes, endpoint: str, *, status: int, reloads: int, tagged: bool) -> None:
        """Count a question to one of the contract's endpoints."""
        with self._lock:
            self._add("questions", endpoint, str(status))
            client = self._client(who, make=False)
            if client is None:
                return
            client.questions += endpoint == "changes"
            client.revalidations += tagged
            client.told = reloads

    def gateway(self, what: str, found: Mended | None) -> None:
        """Count what a gateway reports: a refusal with its faults, or a failure."""
        with self._lock:
            if found is None:
                self._add("gateway_failures", what)
                return
            for fault in found.found:
                cure = fault.cure if isinstance(fault.cure, str) else "suggested"
                self._add("gateway_faults", fault.kind.value, str(cure))

    def snapshot(self) -> Snapshot:
        """All counts now."""
        with self._lock:
            behaviours = Counter(client.shown().behaviour for client in self._clients.values())
            return Snapshot(dict(self._counts), dict(behaviours))

    def fingerprints(self) -> tuple[Shown, ...]:
        """What each client that is known now was seen to do, in no order that says who it is."""
        with self._lock:
            shown = [client.shown() for client in self._clients.values()]
        return tuple(sorted(shown, key=lambda one: (one.behaviour, sorted(one.seen.items()))))

    def _client(self, who: bytes, *, make: bool) -> Client | None:
        if not make and not self._clients:
            return None
        key = self._digests.of(who)
        client = self._clients.get(key)
        if client is not None:
            self._clients.move_to_end(key)
        elif make:
            client = self._clients[key] = Client(self.bounds.suggestions)
            if len(self._clients) > self.bounds.clients:
                self._clients.popitem(last=False)
                self._add("clients_forgotten")
        return client

    def _note(self, what: Seen, action: str, name: str) -> None:
        if what in _EVICTIONS:
            self._add("evictions", what.value, name)
        else:
            self._add(_COUNTED[what], name, self._bounded("action", action))

    def _reloaded(self, before: Registry, after: Registry) -> None:
        with self._lock:
            self.reloads += 1
            for table in before.tables.keys() | after.tables.keys():
                old, new = before.tables.get(table), after.tables.get(table)
                if old is new:
                    continue
                rows = diff(old.rows if old else {}, new.rows if new else {}).keys
                shown = self._bounded("table", self._alias(table) if self._alias else table)
                self._add("reloads", shown)
                self._counts["rows_changed", (shown,)] += len(rows)

    def _add(self, metric: str, *labels: str) -> None:
        self._counts[metric, labels] += 1

    def _bounded(self, kind: str, name: str) -> str:
        known = self._names.setdefault(kind, set())
        if name not in known and len(known) >= self.bounds.names:
            return OTHER
        known.add(name)
        return name
