"""Attacks by the service itself, or by whoever has its key: everything is well signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.contract import A2DG, Statement, versions_root
from lapse.wire import http_stamp
from lapse_bench.attacks.scene import (
    ISSUER,
    KEYS,
    MINUTE,
    SECOND,
    TABLE,
    Case,
    Shop,
    signer,
)

if TYPE_CHECKING:
    from lapse_bench.attacks.proxy import Answer
    from lapse_bench.attacks.scene import Run

__all__ = ["THE_SERVICE"]

_ROUNDS = 40


def invalidation_flood(run: Run) -> None:
    """All rows change with every response, and back with the next; in the end all is well."""
    shop = Shop(run.clock)
    agent = run.agent(run.serve(shop), shop)
    agent.learn()
    before = agent.remembered()
    for number in range(_ROUNDS):
        shop.change(KEYS, "v1" if number % 2 else f"flood-{number}")
        run.clock.advance(microseconds=SECOND // 100)
        agent.order(KEYS[number % len(KEYS)])
    run.clock.advance(microseconds=MINUTE)
    agent.orders()
    agent.lost(before)
    agent.settle()


def false_drift(run: Run) -> None:
    """A new version of every table with every response, of rows that do not change."""
    shop = Shop(run.clock, spread=True)
    agent = run.agent(run.serve(shop), shop)
    agent.learn()
    before = agent.remembered()
    for number in range(_ROUNDS):
        shop.bump()
        agent.order(KEYS[number % len(KEYS)])
    run.clock.advance(microseconds=MINUTE)
    agent.orders()
    agent.lost(before)
    agent.settle()


def poisoned_fix(run: Run) -> None:
    """A cacheable fix that also says where the money goes."""
    shop = Shop(run.clock)
    shop.more = {"payout_account": "DE00 0000", "notify": "https://evil.example/hook"}
    agent = run.agent(run.serve(shop), shop)
    agent.learn()
    agent.orders()
    agent.settle()


def dependency_cycle(run: Run) -> None:
    """Rules by which every row follows from every other; one row changes."""
    shop = Shop(run.clock, in_a_ring=True)
    agent = run.agent(run.serve(shop), shop, policy=A2DG)
    agent.learn()
    before = agent.remembered()
    shop.change(KEYS[:1], "v2")
    agent.order(KEYS[1])
    agent.lost(before)
    agent.settle()


def reused_version(run: Run) -> None:
    """The service loses its state, and starts again: other rows, and the version they had."""
    shop = Shop(run.clock)
    agent = run.agent(run.serve(shop), shop)
    agent.learn()
    run.clock.advance(seconds=1)
    shop.restart({key: f"{key}-v2" for key in KEYS}, "1.0.0")
    agent.orders()
    agent.settle()


def two_stories(run: Run) -> None:
    """One epoch, one client told that nothing changed, the other that everything did."""
    shop, on = Shop(run.clock), [False]
    versions, rules = {TABLE: "2.0.0"}, shop.contract.registry.rules_version

    def tamper(answer: Answer) -> None:
        if not on[0]:
            return
        epoch = int(answer.headers["contract-stamp"].partition("epoch=")[2].partition(",")[0])
        now = run.clock.now() - run.clock.now() % SECOND
        lie = Statement(
            issuer=ISSUER,
            audience="",
            root=versions_root(versions, rules),
            content="",
            epoch=epoch,
            issued_at=now,
            expires_at=now + MINUTE,
        )
        answer.headers |= {n.lower(): v for n, v in http_stamp(lie, signer())}
        answer.headers["contract-versions"] = f'"{TABLE}";v="2.0.0"'
        if "table_versions" in answer.members:
            answer.members["table_versions"] = versions
        if answer.path == "/contract/changes":
            answer.body = answer.members | {"version": "2.0.0", "complete": False, "rows": {}}

    url = run.proxy(shop, tamper)
    honest, deceived = run.agent(url, shop), run.agent(url, shop)
    honest.learn()
    deceived.learn()
    before = deceived.remembered()
    on[0] = True
    deceived.orders()
    deceived.lost(before)
    deceived.settle()


def rolled_back(run: Run) -> None:
    """The service is put back to an old backup, keys and all, and signs its old epochs anew."""
    shop, on = Shop(run.clock), [False]
    old = dict(shop.contract.registry.table_versions)
    rules = shop.contract.registry.rules_version

    def tamper(answer: Answer) -> None:
        if not on[0]:
            return
        now = run.clock.now() - run.clock.now() % SECOND
        backup = Statement(
            issuer=ISSUER,
            audience="",
            root=versions_root(old, rules),
            content="",
            epoch=1,
            issued_at=now,
            expires_at=now + MINUTE,
        )
        answer.headers |= {n.lower(): v for n, v in http_stamp(backup, signer())}
        answer.headers["contract-versions"] = f'"{TABLE}";v="{old[TABLE]}"'
        if "table_versions" in answer.members:
            answer.members["table_versions"] = old
        if answer.path == "/contract/changes":
            answer.body = answer.members | {"version": old[TABLE], "complete": False, "rows": {}}

    agent = run.agent(run.proxy(shop, tamper), shop)
    agent.learn()
    shop.change(KEYS[:1], "v2")
    agent.orders()
    agent.peace()
    before = agent.remembered()
    run.clock.advance(seconds=2)
    on[0] = True
    agent.orders()
    agent.lost(before)
    agent.settle()


def silent_service(run: Run) -> None:
    """The rows change behind the contract's back: it says, and signs, that nothing did."""
    shop = Shop(run.clock)
    agent = run.agent(run.serve(shop), shop)
    agent.learn()
    shop.change_secretly(KEYS, "v2")
    agent.orders()
    agent.settle()


THE_SERVICE = (
    Case(
        name="invalidation_flood",
        attack="every row changes with every response, and back with the next",
        run=invalidation_flood,
        detected_as=("too_fast",),
        residual="fixes are held back while it lasts: each order costs a retry",
    ),
    Case(
        name="false_drift",
        attack="a new version of each of twelve tables with every response, of rows that stay",
        run=false_drift,
        detected_as=("too_fast",),
        residual="fixes are held back while it lasts: each order costs a retry",
    ),
    Case(
        name="poisoned_fix",
        attack="a cacheable fix that sets an account and an address as well",
        run=poisoned_fix,
        detected_as=("sensitive_field",),
        residual="a lie in a harmless field is applied: it is what the service says",
    ),
    Case(
        name="dependency_cycle",
        attack="every row follows from every other, so one change takes all along",
        run=dependency_cycle,
        detected_as=("too_fast",),
        residual="a service that insists for longer than a window is believed",
    ),
    Case(
        name="reused_version",
        attack="after a loss of state, the old version names other rows (ABA)",
        run=reused_version,
        detected_as=("reused_version",),
        residual="the first use after the restart; and a reuse under the cover of another "
        "table's move is not seen",
    ),
    Case(
        name="two_stories",
        attack="two contents under one epoch, told to two clients (equivocation)",
        run=two_stories,
        detected_as=("equivocated",),
        residual="only among clients that share what they know, or compare it",
    ),
    Case(
        name="rolled_back",
        attack="the service signs an older epoch than it did before",
        run=rolled_back,
        detected_as=("rolled_back",),
        residual="an honest service put back to a backup is not believed until it has caught up",
    ),
    Case(
        name="silent_service",
        attack="rows change, and the service says and signs that they did not",
        run=silent_service,
        detected_as=(),
        residual="who lies consistently about himself is not found out by his signature; each "
        "failure teaches the right fix again",
        helps=False,
    ),
)
