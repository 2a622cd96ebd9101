"""A look writes versions and deletes nothing; a world that comes back costs no new write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from lapse.errors import InvalidValue, UnknownRecord
from lapse.ledger import (
    Change,
    ChangeKind,
    Draft,
    Interval,
    Kind,
    Outcome,
    Receipt,
    Record,
    Source,
    Stamp,
    State,
    Status,
    fold,
    genesis,
    seal,
    writing,
)
from lapse.upkeep import Finding, Repair, Response, close, fits, respond, versions

PAGE = Source.probe("http", "https://shop.test/price")


def seen(digest: str, *, at: int = 1, outcome: Outcome = Outcome.CONFIRMS) -> Receipt:
    """A look at the page."""
    return Receipt(observer="upkeep", source=PAGE, at=at, digest=digest, outcome=outcome)


def price(name: str, *, at: int = 1, digest: str | None = None) -> Record:
    """What the page said, remembered; a version is recognised by its name unless told otherwise."""
    return Record(
        id=name,
        kind=Kind.FACT,
        slot="shop/price",
        content={"price": name},
        valid=Interval(at),
        receipts=(seen(name if digest is None else digest, at=at),),
    )


class Memory:
    """A ledger in memory, with every change that was carried out."""

    def __init__(self, *records: Record) -> None:
        self.state = State(genesis("m"))
        self.changes: list[Change] = []
        self.salts = map(str, count())
        for record in records:
            salt = next(self.salts)
            self.carry_out(
                writing(self.state, record, at=1, reason="learned", actor="a", salt=salt)
            )

    def carry_out(self, drafts: Sequence[Draft]) -> None:
        sealed = seal(drafts, self.state.head)
        self.state.check(sealed)
        for change in sealed:
            self.state.apply(change)
        self.changes += sealed

    def look(
        self, name: str, receipt: Receipt, *, repair: Record | None = None, keep: int = 2
    ) -> Response:
        answer = respond(
            self.state,
            name,
            receipt,
            repair=None if repair is None else Repair(repair, keep),
            at=receipt.at,
            actor="upkeep",
            salt=next(self.salts),
        )
        self.carry_out(answer.drafts)
        return answer

    def close(self, *names: str) -> None:
        salt = next(self.salts)
        self.carry_out(close(self.state, names, at=9, actor="upkeep", salt=salt))

    def statuses(self) -> dict[str, str]:
        assert fold(genesis("m"), self.changes) == self.state
        return {record.id: record.status.value for record in self.state.records()}

    def written(self) -> int:
        return sum(change.kind is ChangeKind.WRITTEN for change in self.changes)


def found(response: Response) -> tuple[Finding, str | None]:
    """What a response says, without the drafts."""
    return response.finding, response.version


def test_what_holds_is_confirmed_and_stays() -> None:
    memory = Memory(price("9"))
    assert found(memory.look("9", seen("9", at=5))) == (Finding.CONFIRMED, "9")
    assert memory.statuses() == {"9": "active"}
    assert memory.state.record("9").receipts[-1] == seen("9", at=5)


def test_a_world_that_comes_back_brings_the_old_version_back_without_a_write() -> None:
    memory = Memory(price("9"))
    gone = memory.look("9", seen("12", at=5), repair=price("12", at=5))
    assert found(gone) == (Finding.REPLACED, "12")
    assert memory.statuses() == {"9": "suspended", "12": "active"}
    back = memory.look("12", seen("9", at=8))
    assert found(back) == (Finding.RETURNED, "9")
    assert memory.statuses() == {"9": "active", "12": "suspended"}
    again = memory.look("9", seen("12", at=11))
    assert found(again) == (Finding.RETURNED, "12")
    assert memory.written() == 2
    assert [one.outcome.value for one in memory.state.record("12").receipts] == [
        "confirms",
        "contradicts",
        "confirms",
    ]


def test_what_is_gone_is_closed_where_nobody_knows_what_is_there_instead() -> None:
    memory = Memory(price("9"))
    assert found(memory.look("9", seen("?", at=5))) == (Finding.CONTRADICTED, None)
    assert memory.statuses() == {"9": "suspended"}
    assert found(memory.look("9", seen("!", at=6))) == (Finding.CONTRADICTED, None)
    assert len(memory.state.record("9").receipts) == 3
    assert found(memory.look("9", seen("9", at=7))) == (Finding.RETURNED, "9")
    assert memory.statuses() == {"9": "active"}


def test_a_doubt_closes_use_and_only_a_receipt_opens_it() -> None:
    memory = Memory(price("9"))
    memory.close("9")
    assert memory.statuses() == {"9": "suspended"}
    assert memory.changes[-1].reason == "doubted"
    memory.look("9", seen("9", at=7))
    assert memory.statuses() == {"9": "active"}


def test_no_more_versions_wait_than_may_come_back() -> None:
    memory = Memory(price("9"))
    memory.look("9", seen("10", at=5), repair=price("10", at=5))
    memory.look("10", seen("11", at=6), repair=price("11", at=6))
    assert memory.statuses() == {"9": "superseded", "10": "suspended", "11": "active"}
    memory.look("11", seen("12", at=7), repair=price("12", at=7), keep=1)
    assert memory.statuses()["10"] == memory.statuses()["11"] == "superseded"


def test_where_nothing_comes_back_an_old_price_is_a_new_version() -> None:
    memory = Memory(price("9"))
    memory.look("9", seen("10", at=5), repair=price("10", at=5), keep=1)
    again = price("9 again", at=8, digest="9")
    answer = memory.look("10", seen("9", at=8), repair=again, keep=1)
    assert found(answer) == (Finding.REPLACED, "9 again")
    assert memory.written() == 3


def test_what_rests_on_something_that_lapsed_is_suspended_once() -> None:
    def upon(name: str, *others: str) -> Record:
        stamps = tuple(Stamp(Source.record(one), None) for one in others)
        return replace(price(name), id=name, slot=name, receipts=(), stamps=stamps)

    memory = Memory(price("8"), price("9"), upon("sum", "8", "9"), upon("total", "sum"))
    memory.look("9", seen("12", at=5), repair=price("12", at=5))
    wanted = {"8": "superseded", "9": "superseded", "sum": "suspended", "total": "suspended"}
    assert memory.statuses() == {**wanted, "8": "suspended", "12": "active"}
    assert found(memory.look("8", seen("8", at=6))) == (Finding.RETURNED, "8")
    memory.look("8", seen("12", at=7))
    assert memory.statuses() == {**wanted, "8": "suspended", "12": "active"}


def test_without_a_digest_only_the_version_in_use_can_be_confirmed() -> None:
    memory = Memory(price("9"))
    memory.look("9", seen("12", at=5), repair=price("12", at=5))
    assert found(memory.look("9", seen("", at=6))) == (Finding.CONFIRMED, "12")
    gone = memory.look("9", seen("", at=7, outcome=Outcome.CONTRADICTS))
    assert found(gone) == (Finding.CONTRADICTED, None)
    assert memory.statuses() == {"9": "suspended", "12": "suspended"}
    assert not fits(price("", digest=""), seen(""))


def test_a_disputed_version_is_witnessed_and_left_to_whoever_decides() -> None:
    memory = Memory(price("9"))
    salt = next(memory.salts)
    part = seal_part("9", salt)
    memory.carry_out([replace(part, kind=ChangeKind.DISPUTED)])
    assert found(memory.look("9", seen("9", at=5))) == (Finding.CONFIRMED, "9")
    assert memory.statuses() == {"9": "disputed"}
    memory.look("9", seen("12", at=6), repair=price("12", at=6), keep=1)
    assert memory.statuses() == {"9": "disputed", "12": "active"}


def seal_part(name: str, salt: str) -> Draft:
    """A suspension of one record, drafted by hand."""
    return close(Memory(price(name)).state, [name], at=2, actor="a", salt=salt)[0]


def test_versions_are_of_one_slot_issuer_kind_and_scope() -> None:
    other = replace(price("10"), kind=Kind.CONSTRAINT)
    elsewhere = replace(price("11"), slot="shop/stock")
    memory = Memory(price("9"), other, elsewhere)
    assert [one.id for one in versions(memory.state, price("9"))] == ["9"]


def test_bad_input_is_named() -> None:
    memory = Memory(price("9"))
    with pytest.raises(InvalidValue, match="keep is 0"):
        Repair(price("9"), 0)
    with pytest.raises(InvalidValue, match=r"repair\.slot is 'x'"):
        memory.look("9", seen("12"), repair=replace(price("12"), slot="x"))
    with pytest.raises(InvalidValue, match=r"repair\.receipts"):
        memory.look("9", seen("12"), repair=price("13"))
    with pytest.raises(InvalidValue, match="ids is"):
        memory.close()
    with pytest.raises(UnknownRecord):
        memory.close("8")
    memory.look("9", seen("12", at=5), repair=price("12", at=5), keep=1)
    assert memory.state.record("9").status is Status.SUPERSEDED
    with pytest.raises(InvalidValue, match="item_id is '9'"):
        memory.look("9", seen("9"))
    with pytest.raises(InvalidValue, match="ids is '9'"):
        memory.close("9")
