"""What is spent keeps to the account, whatever is on offer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lapse.upkeep import Account, Bucket, Candidate, Pay, Spend, Wage, Window, decide

OFFERS = st.lists(
    st.tuples(st.floats(0.1, 5.0), st.floats(0.0, 1.0), st.integers(1, 7)), max_size=60
)
"""How much time passes, and what a look is worth and costs then."""


def spending(account: Account, offers: list[tuple[float, float, int]]) -> list[tuple[float, float]]:
    """When what was spent; an errand begun is paid for at once."""
    wage, now, spent = Wage.of(Pay(floor=0.2)), 0.0, list[tuple[float, float]]()
    for time, index, cost in offers:
        now += time
        decision = decide([Candidate("a", index, cost)], wage, account, now=now)
        if isinstance(decision, Spend):
            account = account.charged(cost, now)
            spent.append((now, cost))
    return spent


@given(OFFERS, st.floats(0.5, 10.0), st.floats(1.0, 40.0))
def test_a_window_is_exceeded_by_no_more_than_the_errand_under_way(
    offers: list[tuple[float, float, int]], cap: float, span: float
) -> None:
    spent = spending(Window(cap=cap, span=span), offers)
    for now, last in spent:
        within = sum(cost for at, cost in spent if now - span < at <= now)
        assert within - last < cap


@given(OFFERS, st.floats(0.05, 2.0), st.floats(0.5, 20.0))
def test_a_bucket_is_exceeded_by_no_more_than_the_errand_under_way(
    offers: list[tuple[float, float, int]], rate: float, depth: float
) -> None:
    spent, total = spending(Bucket(rate=rate, depth=depth, level=depth), offers), 0.0
    for now, cost in spent:
        assert total < depth + rate * now + 1e-9
        total += cost


@given(OFFERS)
def test_nothing_is_bought_below_the_wage(offers: list[tuple[float, float, int]]) -> None:
    cheap = [(time, min(index, 0.19), cost) for time, index, cost in offers]
    assert spending(Window(cap=1e6, span=1.0), cheap) == []
