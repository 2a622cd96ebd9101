"""The parts as one: a small drifting world, in which whoever looks at a price does better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lapse.upkeep import (
    Account,
    Candidate,
    Clause,
    Grounding,
    Pay,
    Rates,
    Schedule,
    Spend,
    Stakes,
    Unlimited,
    Wage,
    Watch,
    Window,
    decide,
    durability,
    worth,
)

ITEMS, STEPS, USED, COST = 12, 500, 0.03, 2.0
RATES, STAKES = Rates(0.004, 0.006), Stakes(0.5, 0.4)


@dataclass(slots=True)
class Tally:
    """What came of it."""

    reward: float = 0.0
    spent: float = 0.0
    clauses: set[Clause] | None = None


def lived(seed: int, pay: Pay, account: Account) -> Tally:
    """A life in a world of its own: the same for the same seed, whatever is bought in it.

    Using shows what holds, if it is served; a look shows it too, and takes its actions from work.
    Both versions are on file, so that a look leaves the right one in use.
    """
    draw = np.random.default_rng(seed)
    flips, used = draw.random((STEPS, ITEMS)), draw.random((STEPS, ITEMS)) < USED
    lasting = durability(RATES.total, USED, horizon=STEPS)
    uses = np.full(ITEMS, float(worth(1.0, used=USED, lasting=lasting)))
    watch = Watch(
        grounding=Grounding.single(ITEMS),
        rates=RATES,
        stakes=STAKES,
        uses=uses,
        cost=np.full(ITEMS, COST),
    )
    wage, tally = Wage.of(pay), Tally(clauses=set())
    nothing = np.zeros(ITEMS)
    plan = Schedule(watch, seen=nothing, at=nothing, entry=wage.entry, now=0.0, grain=1.0)
    regime, everything, busy = np.zeros(ITEMS), np.arange(ITEMS), 0
    for step in range(STEPS):
        moves = flips[step] < np.where(regime > 0, RATES.back, RATES.out)
        regime = np.where(moves, 1 - regime, regime)
        due = plan.due(float(step))
        offers = [
            Candidate(str(item), index, COST)
            for item, index in zip(due.tolist(), plan.index(due).tolist(), strict=True)
        ]
        decision = decide(offers, wage, account, now=float(step), in_flight=busy > 0)
        assert tally.clauses is not None
        tally.clauses.add(decision.reason)
        if isinstance(decision, Spend):
            account, busy = account.charged(COST, float(step)), int(COST)
            tally.spent += COST
            target = np.array([int(decision.best.target)])
            plan.observe(target, regime[target], now=float(step))
        busy = max(busy - 1, 0)
        serves = STAKES.serves(plan.stale(everything)) & used[step]
        shown = everything[serves]
        tally.reward += float(np.where(regime[shown] > 0, -0.4, 0.5).sum())
        plan.observe(shown, regime[shown], now=float(step))
    return tally


def mean(pay: Pay, account: Account) -> tuple[float, float]:
    """Reward and spending per step, over some worlds."""
    lives = [lived(seed, pay, account) for seed in range(2)]
    return (
        sum(life.reward for life in lives) / len(lives) / STEPS,
        sum(life.spent for life in lives) / len(lives) / STEPS,
    )


def test_whoever_looks_at_a_price_does_better_than_who_never_looks() -> None:
    never, nothing = mean(Pay(floor=math.inf), Unlimited())
    priced, some = mean(Pay(floor=0.05), Unlimited())
    assert nothing == 0.0
    assert priced > never + 0.005
    assert some > 0.0


def test_without_a_cap_a_price_stops_spending_and_no_price_does_not() -> None:
    priced = lived(1, Pay(floor=0.05), Unlimited())
    eager = lived(1, Pay(floor=0.0), Unlimited())
    assert 0.0 < priced.spent < 0.5 * eager.spent
    assert eager.spent > 0.9 * STEPS


def test_a_cap_holds_and_says_so() -> None:
    capped = lived(1, Pay(floor=0.01), Window(cap=6.0, span=100.0))
    assert capped.spent <= (6.0 + COST) * STEPS / 100.0
    assert capped.clauses is not None
    assert Clause.CAP_REACHED in capped.clauses


def test_the_same_seed_is_the_same_life() -> None:
    first, again = (lived(2, Pay(floor=0.05), Unlimited()) for _ in range(2))
    assert first == again
