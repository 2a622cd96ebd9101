"""What a workspace keeps is read back as it was written, and nothing else is taken for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import Pair, Scan, Verdict
from lapse.errors import InvalidValue
from lapse.ledger import Head, Interval, Kind, Record, Scope
from lapse.runtime.decided import Decided
from lapse.runtime.heard import Heard
from lapse.runtime.workspace_forms import Departed, Notice
from lapse.storage import InMemoryStore
from lapse.testing import SequenceIds
from lapse.testing.workspace import statement
from lapse.testing.workspaces import FOR_BOOKING, HER, Town

DEPARTED = Departed(id="d", member=HER, epoch=3, at=40, head=Head(7, "ab" * 32), digest="cd" * 32)
NOTICE = Notice(id="n", what="closed", items=("a", "b"), by="A2", why="over", epoch=4, at=50)


def decided() -> tuple[Decided, Decided]:
    """A blocked return and one with a view."""
    town = Town(InMemoryStore(ids=SequenceIds("ledger")))
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    town.work.return_(FOR_BOOKING, cycle="r1", workload="Book the rest")
    town.confirms()
    town.work.return_(FOR_BOOKING, cycle="r2")
    kept = town.work.store.state().records()
    first, second = (Decided.of(one) for one in kept if one.content.get("form") == "cycle")
    return first, second


def test_each_form_is_read_back() -> None:
    assert Departed.of(DEPARTED.record()) == DEPARTED
    assert Notice.of(NOTICE.record("t")) == NOTICE
    for one in decided():
        assert Decided.of(one.record()) == one


def test_no_form_repeats_what_an_item_says() -> None:
    texts = ("Riverside", "Sunrise", "quiet hotel", "9:00", "Settle", "learned from")
    for one in decided():
        assert [text for text in texts if text in str(one.record().as_json())] == []


READERS: dict[str, Callable[[Record], object]] = {
    "departure": Departed.of,
    "notice": Notice.of,
    "cycle": Decided.of,
}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize(
    "content",
    [
        {},
        {"after": [1], "what": "closed"},
        {"after": "x", "digest": 1, "items": [1], "what": "closed", "by": "a", "why": ""},
        {"departure": [1, 2, 3], "after": [1, "x"], "spent": [0] * 6, "sealing": [1, "k", "zz"]},
    ],
)
def test_anything_else_is_refused(form: str, content: dict[str, Any]) -> None:
    record = Record(
        id="r",
        kind=Kind.FACT,
        slot="s",
        content={"form": form, **content},
        valid=Interval(0),
        scope=replace(FOR_BOOKING, tenant="t"),
    )
    with pytest.raises(InvalidValue):
        READERS[form](record)


def test_the_tenant_is_part_of_where_a_cycle_lies() -> None:
    assert Decided.slot("red", "r1") != Decided.slot(None, "r1") != Decided.slot(None, "r2")
    assert NOTICE.record("red").scope == Scope(tenant="red")


def test_an_answer_that_is_none_is_kept_as_that() -> None:
    older, later = statement("a", epoch=1), statement("n", epoch=15)
    scan = Scan(older, (later,))
    heard = Heard.of([scan], {"a": ["n"]}, {Pair("a", "n"): "INVALIDATES"})
    assert heard == Heard(named={"a": ("n",)}, answers={Pair("a", "n"): "malformed"})
    assert heard.answered() == {Pair("a", "n"): None}
    unsure = Heard.of([scan], {"a": ["n"]}, {Pair("a", "n"): Verdict.UNSURE})
    assert unsure.answered() == {Pair("a", "n"): Verdict.UNSURE}
