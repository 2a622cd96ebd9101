"""Laws of digests and of deciding again: a part that changed gives what the whole gives."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.admission import WorkItem, capture, difference
from lapse.admission.digests import Root, leaf
from lapse.errors import InvalidValue
from lapse.ledger import Interval, Source, Status, canonical, digest
from lapse.testing.workspace import MEMBER, leaving, receipt, returning, statement

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
items = st.builds(
    statement,
    st.sampled_from([f"i{n}" for n in range(40)]),
    texts,
    attributes=st.dictionaries(
        texts.map(lambda name: f"x{name}"), st.floats(-9, 9) | texts, max_size=2
    ),
)
sets_of_items = st.lists(items, max_size=12, unique_by=lambda item: item.id)


def by_hand(found: list[WorkItem]) -> str:
    """The root, from the four rules alone."""
    leaves: list[bytes] = []
    for item in found:
        seen = [[r.observer, list(r.source), r.at, r.digest, r.outcome] for r in item.receipts]
        said = hashlib.sha256(canonical([item.id, item.said()])).hexdigest()
        row = json.dumps([said, item.status, seen], ensure_ascii=False, separators=(",", ":"))
        leaves.append(hashlib.sha256(row.encode()).digest())
    lines = b"".join(
        bits.to_bytes(2, "big") + hashlib.sha256(b"".join(group)).digest()
        for bits, group in groupby(sorted(leaves), lambda one: int.from_bytes(one[:2], "big") >> 4)
    )
    return hashlib.sha256(lines).hexdigest()


@given(sets_of_items)
def test_anybody_can_recompute_the_root(found: list[WorkItem]) -> None:
    assert Root.of(found).hex() == by_hand(found)


@given(sets_of_items, sets_of_items)
def test_a_root_that_was_changed_is_the_root_of_what_is_there(
    before: list[WorkItem], after: list[WorkItem]
) -> None:
    root = Root.of(before)
    changed = root.changed(less=before, more=after)
    assert (changed.hex(), changed.count) == (Root.of(after).hex(), len(after))
    assert (root.hex(), root.count) == (by_hand(before), len(before))


@given(sets_of_items, st.data())
def test_any_change_of_any_item_changes_every_digest(
    found: list[WorkItem], data: st.DataObject
) -> None:
    found = [*found, statement("last")]
    at = data.draw(st.integers(0, len(found) - 1))
    item = found[at]
    others = [
        replace(item, id="other"),
        replace(item, slot="other"),
        replace(item, valid=Interval(2, 30)),
        replace(item, supports=("d",)),
        replace(item, receipts=(*item.receipts, receipt(Source.probe("desk", "x"), "", at=7))),
        replace(item, receipts=(replace(item.receipts[0], observer="other"),)),
        item.with_status(Status.DISPUTED),
    ]
    digests = {leaving(*found).digest(), returning(leaving(), *found).digest()}
    for other in others:
        changed = [*found[:at], other, *found[at + 1 :]]
        digests |= {leaving(*changed).digest(), returning(leaving(), *changed).digest()}
    assert len(digests) == 2 * (len(others) + 1)


@given(sets_of_items, sets_of_items)
def test_a_checkpoint_has_the_digest_of_its_items_however_it_came_about(
    before: list[WorkItem], now: list[WorkItem]
) -> None:
    had = {item.id: item for item in before}
    now = [replace(had[i.id], status=Status.DISPUTED) if i.id in had else i for i in now]
    found = returning(leaving(*before), *now)
    assert found.digest() == replace(found, items=tuple(found.items)).digest()
    assert found.root.hex() == by_hand(list(found.items))


def test_what_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(InvalidValue, match="less"):
        Root.of([statement("a")]).changed(less=[statement("b")], more=[])


def test_an_item_without_a_canonical_form_has_a_leaf_all_the_same() -> None:
    late = statement("late", valid=Interval(2**60))
    with pytest.raises(InvalidValue):
        late.digest()
    assert leaf(late) != leaf(replace(late, valid=Interval(2**60 + 1)))
    departure = capture([late], MEMBER, epoch=10, at=10)
    assert difference(departure, [late], epoch=11).departure == departure.digest()


def test_a_digest_says_what_it_covers() -> None:
    departure = leaving(statement("a"))
    head = ["lapse departure", 2, MEMBER.as_json(), 10, 10, 1, departure.root.hex()]
    assert departure.digest() == digest(canonical(head))
