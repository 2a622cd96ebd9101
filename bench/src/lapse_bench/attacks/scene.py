"""The scene of an attack: a shop, somebody on the way to it, and a client with a memory.

The shop has one table of codes. A request names a key and a value; it passes when the value is the
row's, and is otherwise refused with the fix. That is all the client ever has to know, so whatever
goes wrong with a fix is the attacker's doing.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx2

import lapse
from lapse.contract import A2DC, BY_KEY, Bounds, Demand, Registry, Rule, Table, Terms, Violation
from lapse.server import Contract, Signing
from lapse.signing.ed25519 import Ed25519Signer
from lapse.testing import ManualClock
from lapse.transports.http import Transport
from lapse_bench.attacks.proxy import Proxy, Upstream
from lapse_bench.service import UnknownOperation, service
from lapse_bench.serving import loopback, served

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from lapse.contract import EvictionPolicy, Reading
    from lapse.ledger import JsonObject
    from lapse.runtime import Event, Memory
    from lapse.server import ASGIApp, Receive, Scope, Send
    from lapse_bench.attacks.proxy import Tamper

__all__ = [
    "ISSUER",
    "KEYS",
    "MINUTE",
    "OPERATION",
    "SECOND",
    "Agent",
    "Case",
    "Run",
    "Shop",
    "attacked",
]

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
BEGIN: Final = 1_764_500_000 * SECOND

ISSUER: Final = "https://shop.example"
TABLE: Final = "codes"
_RING: Final = "ring"
_RULES: Final = (
    Rule(_RING, _RING, "follows", ""),
    Rule(_RING, TABLE, "sets", BY_KEY),
    Rule(TABLE, _RING, "feeds", BY_KEY),
)
OPERATION: Final = "POST /order"
KEYS: Final = tuple(f"key-{number:02}" for number in range(12))
LIFETIME_S: Final = 300
SECRET: Final = bytes(range(32))
"""The shop's key in this play; an attacker with a key of his own has another."""

BOUNDS: Final = Bounds(window_us=MINUTE, moves=3, evictions=5, questions=5)
"""Small, because the shop is small."""


def signer() -> Ed25519Signer:
    """The shop's signer."""
    return Ed25519Signer("shop-2026", SECRET)


class Shop:
    """The service, with everything an operator, honest or not, can do to it.

    Args:
        clock: its clock.
        audience: to whom it speaks.
        in_a_ring: whether a second table makes every row follow from every other.
        spread: whether each row has a table of its own.
        value: from a key to its row's value at the start.
    """

    def __init__(
        self,
        clock: ManualClock,
        *,
        audience: str = "",
        in_a_ring: bool = False,
        spread: bool = False,
        value: Callable[[str], str] = lambda key: f"{key}-v1",
    ) -> None:
        self.clock = clock
        self.signing = Signing(
            signer(), issuer=ISSUER, clock=clock, audience=audience, lifetime_s=LIFETIME_S
        )
        self._ring = Table(_RING, {k: KEYS[n - 1] for n, k in enumerate(KEYS)}, "1.0.0")
        self._in_a_ring = in_a_ring
        self._table_of = {k: f"{TABLE}-{k}" if spread else TABLE for k in KEYS}
        self._secret: dict[str, str] = {}
        self.more: dict[str, Any] = {}
        self.lies: dict[str, str] = {}
        self.restart({key: value(key) for key in KEYS}, "1.0.0")

    def restart(self, rows: Mapping[str, str], version: str) -> None:
        """Start with these rows under this version, and without a change log."""
        tables = [Table(n, self._part(n, rows), version) for n in self._names]
        tables += [self._ring] if self._in_a_ring else []
        registry = Registry.of(tables, _RULES if self._in_a_ring else ())
        self.contract = Contract(registry, signing=self.signing)
        self._app = service(self.contract, self._judge)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await self._app(scope, receive, send)

    @property
    def rows(self) -> dict[str, str]:
        """What is true now."""
        tables = self.contract.registry.tables
        return {**{k: tables[t].rows[k] for k, t in self._table_of.items()}, **self._secret}

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(self._table_of.values()))

    def _part(self, table: str, rows: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in rows.items() if self._table_of[key] == table}

    def change(self, keys: tuple[str, ...], to: str) -> None:
        """Give rows another value, as an honest reload."""
        self.clock.advance(seconds=1)
        rows = {**self.rows, **{key: f"{key}-{to}" for key in keys}}
        for table in self._names:
            self.contract.reload(table, self._part(table, rows))

    def change_secretly(self, keys: tuple[str, ...], to: str) -> None:
        """Give rows another value, and tell nobody."""
        self._secret = {key: f"{key}-{to}" for key in keys}

    def bump(self) -> None:
        """A new version of the same rows."""
        self.clock.advance(microseconds=1_000)
        for table in self._names:
            number = len(self.contract.registry.log.get(table, ()))
            self.contract.reload(table, self._part(table, self.rows), f"9.{number}")

    def _judge(self, operation: str, request: JsonObject, tables: Reading) -> Violation | None:
        if operation != OPERATION:
            raise UnknownOperation
        key = str(request.get("key"))
        value = self._secret.get(key, tables[self._table_of.get(key, TABLE)].get(key))
        if value is None or request.get("value") == value:
            return None
        offered = self.lies.get(key, value)
        if request.get("value") == offered:  # its own lie: it does not say that again
            return Violation(policy="value", title="The value is not right", detail="…")
        fix = tables.suggest("SET_VALUE", {"value": offered, **self.more}, when={"key": key})
        return Violation(
            policy="value", title="The value is not right", detail="…", suggestions=(fix,)
        )


@dataclass(slots=True)
class Agent:
    """The client: a memory behind a transport, and what its use of it does.

    Attributes:
        memory: what it remembers.
        client: sends its requests.
        shop: asked what is true, for scoring alone.
        harm: what went wrong so far.
        events: what the memory told.
        asked: how many questions were asked before the attack.
    """

    memory: Memory
    client: httpx2.Client
    shop: Shop
    harm: Counter[str] = field(default_factory=Counter[str])
    events: list[Event] = field(default_factory=list["Event"])
    asked: int = 0

    def order(self, key: str) -> None:
        """One episode: use what is remembered, and take the service's word if that fails."""
        request: dict[str, Any] = {"key": key, "value": "?"}
        fixes = self.memory.fixes(OPERATION, request, issuer=ISSUER)
        if fixes:
            parameters = dict(fixes[-1].parameters)
            self.harm["stale_fixes_applied"] += parameters.get("value") != self.shop.rows[key]
            self.harm["parameters_injected"] += len(parameters.keys() - {"value"})
            request |= parameters
        else:
            self.harm["orders_without_a_fix"] += 1
        response = self.client.post("/order", json=request)
        if response.is_success:
            return
        self.harm["retries"] += 1
        offered: Any = response.json().get("recovery_feedback", {}).get("suggestions", [])
        if offered:
            value = offered[0].get("parameters", {}).get("value")
            self.client.post("/order", json={"key": key, "value": value})

    def orders(self, keys: tuple[str, ...] = KEYS) -> None:
        """One episode for each key."""
        for key in keys:
            self.order(key)

    def learn(self) -> None:
        """Meet every key once, in peace; what that costs is not harm."""
        self.orders()
        self.peace()

    def peace(self) -> None:
        """What was counted up to here is not harm."""
        self.harm.clear()
        self.asked = self.memory.counters.get("questions", 0)

    def settle(self) -> None:
        """Count what is lost and what is held, as things stand with the service."""
        rows = self.shop.rows
        live = {r.content["when"]["key"]: r for r in self.memory.records()}
        true = {k for k, r in live.items() if r.content["parameters"].get("value") == rows[k]}
        served = {
            key
            for key in true
            if self.memory.fixes(OPERATION, {"key": key, "value": "?"}, issuer=ISSUER)
        }
        self.harm["fixes_held_back"] += len(true - served)
        self.harm["questions"] += self.memory.counters.get("questions", 0) - self.asked

    def lost(self, before: Mapping[str, str]) -> None:
        """Count the fixes that were remembered, are still true, and are gone."""
        rows = self.shop.rows
        live = {record.id for record in self.memory.records()}
        held = {r.id: r.content["parameters"] for r in self.memory.records(live=False)}
        self.harm["true_fixes_lost"] += sum(
            record not in live and held[record].get("value") == rows[key]
            for record, key in before.items()
        )

    def remembered(self) -> dict[str, str]:
        """The records now, with their keys."""
        return {r.id: str(r.content["when"]["key"]) for r in self.memory.records()}

    @property
    def detected(self) -> list[str]:
        """The reasons for which something was not believed, in the order of their first use."""
        telling = ("untrusted", "withheld", "quarantined", "refused", "declined", "disputed")
        found = (str(e.reason) for e in self.events if e.what in telling)
        return list(dict.fromkeys(reason for reason in found if reason not in _PEACEFUL))


_PEACEFUL: Final = frozenset({"late", "unconfirmed", "not_cacheable"})
"""Reasons that an honest service gives occasion to as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One attack.

    Attributes:
        name: what it is called.
        attack: what the attacker does.
        run: plays it.
        detected_as: the reasons with which a protected client meets it; empty: with none.
        residual: what is left, in words.
        always_on: whether every client is safe from it, protected or not.
        helps: whether protection helps at all.
    """

    name: str
    attack: str
    run: Callable[[Run], None]
    detected_as: tuple[str, ...]
    residual: str
    always_on: bool = False
    helps: bool = True


@dataclass(slots=True)
class Run:
    """One play of an attack, against one kind of client.

    Attributes:
        clock: everybody's clock.
        protected: whether the client demands anything.
        trust_file: where a protected client keeps what it knows of issuers.
        agents: the clients that took part.
        opened: everything that is closed when the play is over.
    """

    clock: ManualClock
    protected: bool
    trust_file: Path
    agents: list[Agent] = field(default_factory=list[Agent])
    opened: ExitStack = field(default_factory=ExitStack)

    def serve(self, app: ASGIApp) -> str:
        """Serve an application until the play is over; gives its URL."""
        return self.opened.enter_context(served(app))

    def proxy(self, shop: Shop, tamper: Tamper) -> str:
        """Put somebody on the way to a shop; gives his URL."""
        upstream = self.opened.enter_context(Upstream.at(self.serve(shop)))
        return self.serve(Proxy(upstream, tamper))

    def agent(
        self,
        url: str,
        shop: Shop,
        *,
        audience: str = "",
        policy: EvictionPolicy = A2DC,
        pinned: bool = False,
    ) -> Agent:
        """A client of this URL."""
        terms = Terms(
            issuer=ISSUER,
            audience=audience,
            demand=Demand.ONCE_SEEN,
            keys={"shop-2026": signer().public} if pinned else {},
        )
        trust = lapse.trust(self.trust_file, terms={ISSUER: terms}, bounds=BOUNDS)
        memory = self.opened.enter_context(
            lapse.open(
                "memory:",
                policy=policy,
                clock=self.clock,
                trust=trust if self.protected else None,
            )
        )
        transport = Transport(memory, loopback(), issuer=ISSUER)
        client = self.opened.enter_context(httpx2.Client(base_url=url, transport=transport))
        agent = Agent(memory, client, shop)
        memory.observe(agent.events.append)
        self.agents.append(agent)
        return agent


@contextmanager
def attacked(*, protected: bool, trust_file: Path) -> Generator[Run]:
    """The scene of one play, cleared when it is over."""
    run = Run(ManualClock(BEGIN), protected, trust_file)
    with run.opened:
        yield run
