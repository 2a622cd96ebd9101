"""The cheapest evidence for everything that is lacking, found within a fixed number of steps.

The greedy choice pays a few percent too much, and misses sets that would fit a tight budget. From
its set, in order:

1. What the rest of the set supports as well is taken out, the costliest first.
2. Every set is looked at that could be cheaper, depth first, for at most `STEPS` steps. A branch is
   left when what it cost and what the rest must cost at least are no less than the best so far.
   What the rest must cost is a sum of prices, one for each dependency, no item's prices together
   above its cost (weak duality of the covering problem).

With a longer list of lacking dependencies than `MOST_LACKING` only the first rule applies. Steps
are counted and no clock is read, so the same candidates give the same set everywhere; of two sets
that cost the same the one that was found first stays, and the greedy one is found first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from lapse.admission.candidates import Candidates, Rank

__all__ = ["MOST_LACKING", "STEPS", "cheapest"]

STEPS = 500
"""How many partial sets are looked at, about ten microseconds each."""

MOST_LACKING = 48
"""How many lacking dependencies are searched for: several times what a view of eight items has."""


class _Piece(NamedTuple):
    """The first choice among the items that support the same of what is lacking."""

    cost: int
    name: str
    bits: int


def cheapest(
    candidates: Candidates,
    wanted: Mapping[str, int],
    greedy: Sequence[Rank],
    *,
    items: int,
    chars: int,
) -> tuple[str, ...]:
    """The ids of the evidence to show, in the order of their ranks.

    Args:
        candidates: what there is.
        wanted: each dependency with its weight.
        greedy: what the greedy choice took.
        items: how many items there is room for.
        chars: how many characters there is room for; an item costs its characters.
    """
    lacking = [dependency for dependency in sorted(wanted) if candidates.about(dependency)]
    bit = {dependency: 1 << at for at, dependency in enumerate(lacking)}
    whole = (1 << len(lacking)) - 1
    taken = [_Piece(rank[2], rank[3], _bits(rank[4], bit)) for rank in greedy]
    best: Sequence[_Piece] | None = None
    if _union(taken) == whole:
        best = _without_the_idle(taken)
    if 0 < len(lacking) <= MOST_LACKING:
        most = chars if best is None else sum(piece.cost for piece in best) - 1
        pieces = _pieces(candidates.ranked(wanted), bit)
        found = _Search.over(pieces, len(lacking), items=items, most=most).run(whole)
        best = best if found is None else found
    chosen = {piece.name for piece in (taken if best is None else best)}
    if chosen == {rank[3] for rank in greedy}:
        return tuple(rank[3] for rank in greedy)
    return tuple(rank[3] for rank in candidates.ranked(wanted) if rank[3] in chosen)


def _bits(group: Iterable[str], bit: Mapping[str, int]) -> int:
    bits = 0
    for dependency in group:
        if dependency in bit:
            bits |= bit[dependency]
    return bits


def _union(pieces: Iterable[_Piece]) -> int:
    bits = 0
    for piece in pieces:
        bits |= piece.bits
    return bits


def _without_the_idle(taken: Sequence[_Piece]) -> list[_Piece]:
    """Rule 1."""
    kept = list(taken)
    whole = _union(kept)
    for piece in sorted(taken, key=lambda one: (-one.cost, one.name)):
        rest = [other for other in kept if other is not piece]
        if _union(rest) == whole:
            kept = rest
    return kept


def _pieces(ranks: Iterable[Rank], bit: Mapping[str, int]) -> list[_Piece]:
    shortest: dict[int, tuple[int, str]] = {}
    for _, _, cost, name, group in ranks:
        bits = _bits(group, bit)
        known = shortest.get(bits)
        if known is None or (cost, name) < known:
            shortest[bits] = cost, name
    return [_Piece(cost, name, bits) for bits, (cost, name) in shortest.items()]


@dataclass(slots=True)
class _Search:
    """Rule 2.

    Attributes:
        covering: for each bit, the pieces that have it, first those least above their prices.
        prices: for each bit, what covering it costs at least.
        order: the bits, those with the fewest pieces first.
        items: how many pieces may be taken.
        most: what they may cost together.
        steps: how many more partial sets are looked at.
        best: the cheapest set so far.
        seen: for what was left to cover, the cheapest way here, and how many pieces it took.
    """

    covering: Sequence[Sequence[_Piece]]
    prices: Sequence[int]
    order: Sequence[int]
    items: int
    most: int
    steps: int = STEPS
    best: tuple[_Piece, ...] | None = None
    seen: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict[int, "list[tuple[int, int]]"]
    )

    @classmethod
    def over(cls, pieces: Collection[_Piece], count: int, *, items: int, most: int) -> _Search:
        """A search for a cover of so many bits."""
        covering = _covering(pieces, count)
        order = sorted(range(count), key=lambda at: (len(covering[at]), at))
        prices = _prices(covering, order)
        spare = most - sum(prices)
        above = {piece: piece.cost - _priced(piece.bits, prices) for piece in pieces}
        worth = [piece for piece in pieces if above[piece] <= spare]
        worth.sort(key=lambda piece: (above[piece], piece))
        return cls(_covering(worth, count), prices, order, items, most)

    def run(self, whole: int) -> tuple[_Piece, ...] | None:
        """The cheapest cover that was found; None: none, or none that is cheap enough."""
        self._look(whole, (), 0, sum(self.prices))
        return self.best

    def _look(self, left: int, taken: tuple[_Piece, ...], cost: int, floor: int) -> None:
        if not left:
            self.best, self.most = taken, cost - 1
            return
        if len(taken) >= self.items or not self.steps or self._was_here(left, len(taken), cost):
            return
        self.steps -= 1
        at = next(at for at in self.order if left >> at & 1)
        for piece in self.covering[at]:
            least = floor - _priced(left & piece.bits, self.prices)
            if cost + piece.cost + least <= self.most:
                self._look(left & ~piece.bits, (*taken, piece), cost + piece.cost, least)

    def _was_here(self, left: int, count: int, cost: int) -> bool:
        known = self.seen.setdefault(left, [])
        if any(n <= count and c <= cost for n, c in known):
            return True
        known.append((count, cost))
        return False


def _covering(pieces: Iterable[_Piece], count: int) -> list[list[_Piece]]:
    covering: list[list[_Piece]] = [[] for _ in range(count)]
    for piece in pieces:
        for at in _set_bits(piece.bits):
            covering[at].append(piece)
    return covering


def _prices(covering: Sequence[Sequence[_Piece]], order: Iterable[int]) -> list[int]:
    """Prices raised one after the other as far as no item's prices exceed its cost."""
    prices = [0] * len(covering)
    spare = {piece: piece.cost for pieces in covering for piece in pieces}
    for at in order:
        prices[at] = min(spare[piece] for piece in covering[at])
        for piece in covering[at]:
            spare[piece] -= prices[at]
    return prices


def _priced(bits: int, prices: Sequence[int]) -> int:
    total = 0
    while bits:  # a loop of its own: asked of every piece at every step
        lowest = bits & -bits
        total += prices[lowest.bit_length() - 1]
        bits ^= lowest
    return total


def _set_bits(bits: int) -> Iterable[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
