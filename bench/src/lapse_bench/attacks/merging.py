"""Attacks by a lying service on a client that merges fixes into requests without a model.

The client writes its orders by a rule of its own, and they are right or lack a value; what is
remembered is then put into them. Without protection it merges whatever holds, as a program does
that says ``request |= fix.parameters``. With protection the transport merges, under a schema and
`AmendmentRules`, and what comes of it counts. Nobody signs anything here: a signature says who
lied, and all of these are lies that are well signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2

import lapse
from lapse.contract import AmendmentRules, FieldRules
from lapse.transports.http import Amended, RequestSchemas, Transport
from lapse_bench.attacks.scene import ISSUER, KEYS, OPERATION, Agent, Case, Shop
from lapse_bench.serving import loopback

if TYPE_CHECKING:
    from lapse_bench.attacks.scene import Run

__all__ = ["MERGING"]

_ROUNDS: Final = 5
"""How often each order is placed after its fix was learnt."""

SCHEMAS: Final = RequestSchemas.by_operation(
    {
        OPERATION: {
            "type": "object",
            "properties": {
                "key": {"type": "string"},
                "value": {"type": "string"},
                "delivery": {"enum": ["standard", "express"]},
            },
        }
    }
)
"""What an order may hold. `delivery` is the client's to choose, and express costs more."""


@dataclass(frozen=True, slots=True)
class _Merging:
    """A client that merges.

    Attributes:
        agent: its memory, its client, and what is counted.
        protected: whether the transport merges, or the program by itself.
    """

    agent: Agent
    protected: bool

    def order(self, key: str, *, value: str = "?") -> None:
        """Place an order, with whatever is remembered merged into it."""
        agent = self.agent
        written: dict[str, Any] = {"key": key, "value": value, "delivery": "standard"}
        request = dict(written)
        if not self.protected:
            for fix in agent.memory.fixes(OPERATION, request, issuer=ISSUER):
                request |= fix.parameters
        response = agent.client.post("/order", json=request)
        amended = response.extensions.get("lapse")
        sent = dict(amended.amendment.after) if isinstance(amended, Amended) else request
        changed = {name for name in sent if sent[name] != written.get(name)}
        agent.harm["parameters_injected"] += len(changed - {"value"})
        agent.harm["stale_fixes_applied"] += (
            "value" in changed and sent["value"] != agent.shop.rows[key]
        )
        agent.harm["orders_refused"] += not response.is_success

    def orders(self, *, right: bool = False) -> None:
        """One order for each key; with `right`, each carries the value that is true."""
        rows = self.agent.shop.rows
        for key in KEYS:
            self.order(key, value=rows[key] if right else "?")


def _client(run: Run, shop: Shop, rules: AmendmentRules | None = None) -> _Merging:
    memory = run.opened.enter_context(lapse.open("memory:", clock=run.clock))
    transport = (
        Transport(
            memory,
            loopback(),
            issuer=ISSUER,
            consume="apply",
            schemas=SCHEMAS,
            amendment=rules,
        )
        if run.protected
        else Transport(memory, loopback(), issuer=ISSUER)
    )
    client = run.opened.enter_context(httpx2.Client(base_url=run.serve(shop), transport=transport))
    agent = Agent(memory, client, shop)
    memory.observe(agent.events.append)
    run.agents.append(agent)
    merging = _Merging(agent, run.protected)
    merging.orders()  # each is refused, and teaches its fix
    agent.peace()
    return merging


def _injected(run: Run, more: dict[str, Any], rules: AmendmentRules | None = None) -> None:
    shop = Shop(run.clock)
    shop.more = more
    merging = _client(run, shop, rules)
    for _ in range(_ROUNDS):
        merging.orders()


def merged_account(run: Run) -> None:
    """Every fix also says where the money goes."""
    _injected(run, {"payout_account": "DE00 0000"})


def merged_extra(run: Run) -> None:
    """Every fix also sets a member with a harmless name that no order has."""
    _injected(run, {"remark": "priority"})


def merged_choice(run: Run) -> None:
    """Every fix also turns a choice of the client's to another that the schema allows."""
    _injected(run, {"delivery": "express"})


def merged_choice_listed(run: Run) -> None:
    """The same, and the client has listed the one field that fixes may set."""
    fields = FieldRules(fields={OPERATION: frozenset({"value"})})
    _injected(run, {"delivery": "express"}, AmendmentRules(fields=fields))


def merged_into_failure(run: Run) -> None:
    """Every fix is wrong, and whatever carries it is refused; the client's own orders are right."""
    shop = Shop(run.clock)
    shop.lies = dict.fromkeys(KEYS, "never")
    merging = _client(run, shop)
    for _ in range(_ROUNDS):
        merging.orders(right=True)


def merged_and_said_again(run: Run) -> None:
    """The same, and between the rounds the service gives the wrong fix again."""
    shop = Shop(run.clock)
    shop.lies = dict.fromkeys(KEYS, "never")
    merging = _client(run, shop)
    for _ in range(_ROUNDS):
        merging.orders(right=True)
        merging.orders()


MERGING: Final = (
    Case(
        name="merged_account",
        attack="every fix also sets an account, and the client merges fixes by itself",
        run=merged_account,
        detected_as=("sensitive_field",),
        residual="the fix is declined whole, so each order costs the retry that it would cost "
        "without a memory",
    ),
    Case(
        name="merged_extra",
        attack="every fix also sets a member that the operation's schema does not have",
        run=merged_extra,
        detected_as=("field_not_in_schema",),
        residual="the fix is declined whole, so each order costs the retry that it would cost "
        "without a memory",
    ),
    Case(
        name="merged_choice",
        attack="every fix also turns a choice of the client's to another one that is allowed",
        run=merged_choice,
        detected_as=(),
        residual="a lie in a field that is declared, allowed and harmless by its name is merged; "
        "list the fields that fixes may set, or be asked",
        helps=False,
    ),
    Case(
        name="merged_choice_listed",
        attack="the same, against a client that lists the fields that fixes may set",
        run=merged_choice_listed,
        detected_as=("field_not_allowed",),
        residual="a lie in a listed field",
    ),
    Case(
        name="merged_into_failure",
        attack="every fix is wrong and every order that carries it is refused",
        run=merged_into_failure,
        detected_as=("applied_and_refused",),
        residual="the first order with each wrong fix is spoiled",
    ),
    Case(
        name="merged_and_said_again",
        attack="the same, and the service gives each wrong fix again after every refusal",
        run=merged_and_said_again,
        detected_as=("applied_and_refused",),
        residual="two orders with each wrong fix are spoiled, and then no more until its row moves",
    ),
)
