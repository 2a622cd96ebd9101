"""The nouns: what may be built, what is refused, and what survives being written and read."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lapse.errors import InvalidValue
from lapse.ledger import (
    EVERYWHERE,
    Comparison,
    Interval,
    Kind,
    Outcome,
    Receipt,
    Record,
    Scope,
    Source,
    Stamp,
    Status,
    canonical,
    compare,
    decode,
    digest,
    encode,
    vector,
)

ISSUER = "https://api.example"
ROW = Source.row(ISSUER, "limits", "rma")
TABLE = Source.table(ISSUER, "limits")
RULES = Source.rules(ISSUER)


# -- bytes ----------------------------------------------------------------------------------------


def test_what_is_stored_is_encoded_in_one_way() -> None:
    assert encode({"b": [1, None, True], "a": "ü"}) == '{"a":"ü","b":[1,null,true]}'.encode()
    assert decode(encode({"b": 1.5})) == {"b": 1.5}


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, "\ud800", ..., {1, 2}, {(1,): 2}, b"bytes", LOOP], ids=repr
)
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue) as refusal:
        encode(value)
    assert refusal.value.field == "value"
    assert refusal.value.remedy.startswith("pass plain JSON (")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_json_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidValue) as refusal:
        decode(body)
    assert refusal.value.field == "body"


def test_a_salt_changes_the_digest_and_an_empty_one_does_not() -> None:
    assert digest(b"body") == digest(b"body", salt="")
    assert len({digest(b"body"), digest(b"body", salt="a"), digest(b"body", salt="b")}) == 3
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_canonical_form_is_that_of_rfc_8785() -> None:
    value: dict[str, object] = {
        "\u20ac": 1e21,
        "\r": 0.1,
        "\U0001f600": [],
        "a": 333333333.33333329,
    }
    assert canonical(value) == (
        '{"\\r":0.1,"a":333333333.3333333,"\u20ac":1e+21,"\U0001f600":[]}'.encode()
    )


@pytest.mark.parametrize("value", [math.nan, 2**53, {1: 2}, "\ud800", ..., LOOP], ids=repr)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue) as refusal:
        canonical(value)
    assert refusal.value.field == "value"


# -- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "written", "container"),
    [
        (ROW, "https://api.example/limits:rma", TABLE),
        (TABLE, "https://api.example/limits", TABLE),
        (RULES, "https://api.example/rules", RULES),
        (Source.record("r1"), "record:r1", Source.record("r1")),
        (Source.premise("w", "hotel"), "w/hotel", Source.premise("w", "hotel")),
        (Source.probe("http", "x"), "http/x", Source.probe("http", "x")),
    ],
    ids=str,
)
def test_sources_are_written_and_contained(source: Source, written: str, container: Source) -> None:
    assert str(source) == written
    assert source.container == container
    assert type(source.container) is Source
    assert Source.from_parts(list(source)) == source


@pytest.mark.parametrize(
    "parts", [None, [], ["row", "i", "t"], ["cell", "i", "t", "k"], ["row", "i", "t", 1], "rowi"]
)
def test_what_is_no_source_is_refused(parts: object) -> None:
    with pytest.raises(InvalidValue) as refusal:
        Source.from_parts(parts)
    assert refusal.value.field == "source"


# -- stamps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stamp", "current", "outcome"),
    [
        (Stamp(TABLE, "1"), {TABLE: "1"}, Comparison.SAME),
        (Stamp(TABLE, "1"), {TABLE: "2"}, Comparison.MOVED),
        (Stamp(TABLE, "1"), {TABLE: None}, Comparison.MOVED),
        (Stamp(TABLE, None), {TABLE: None}, Comparison.SAME),
        (Stamp(TABLE, None), {TABLE: "1"}, Comparison.MOVED),
        (Stamp(TABLE, "1"), {RULES: "1"}, Comparison.UNKNOWN),
        (Stamp(ROW, "r1", "1"), {TABLE: "1"}, Comparison.SAME),
        (Stamp(ROW, "r1", "1"), {TABLE: "2"}, Comparison.UNKNOWN),
        (Stamp(ROW, "r1", "1"), {TABLE: "2", ROW: "r1"}, Comparison.SAME),
        (Stamp(ROW, "r1", "1"), {TABLE: "2", ROW: "r2"}, Comparison.MOVED),
        (Stamp(ROW, "r1", "1"), {TABLE: "1", ROW: "r2"}, Comparison.SAME),
        (Stamp(ROW, "r1"), {TABLE: "1"}, Comparison.UNKNOWN),
        (Stamp(ROW, "r1"), {ROW: "r1"}, Comparison.SAME),
    ],
)
def test_a_stamp_is_compared_and_never_guessed(
    stamp: Stamp, current: dict[Source, str | None], outcome: Comparison
) -> None:
    assert stamp.compare(current) is outcome
    assert Stamp.from_json(decode(encode(stamp.as_json()))) == stamp


@pytest.mark.parametrize(
    ("versions", "outcome"),
    [
        ([], Comparison.UNKNOWN),
        (["1"], Comparison.SAME),
        (["1", "1"], Comparison.SAME),
        (["1", "2"], Comparison.MOVED),
        ([None, "1"], Comparison.UNKNOWN),
        ([None, "2"], Comparison.MOVED),
        (["2", None], Comparison.MOVED),
    ],
)
def test_a_vector_is_as_good_as_its_worst_stamp(
    versions: list[str | None], outcome: Comparison
) -> None:
    current: dict[Source, str | None] = {
        Source.table("i", str(number)): version
        for number, version in enumerate(versions)
        if version is not None
    }
    stamps = [Stamp(Source.table("i", str(number)), "1") for number in range(len(versions))]
    assert compare(stamps, current) is outcome


def test_equal_sets_of_stamps_are_equal_vectors() -> None:
    one, two = Stamp(ROW, "r1", "1"), Stamp(TABLE, "1")
    assert vector([one, two, one]) == vector([two, one]) == (one, two)
    with pytest.raises(InvalidValue, match="one version per source") as refusal:
        vector([one, Stamp(ROW, "r2")])
    assert refusal.value.value == str(ROW)


@pytest.mark.parametrize(
    "value", [None, [], [list(ROW), 1, None], [list(ROW), "1"], [[], "1", "1"]]
)
def test_what_is_no_stamp_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue):
        Stamp.from_json(value)


# -- records --------------------------------------------------------------------------------------


RECEIPT = Receipt(observer="probe", source=TABLE, at=5, digest="ab", outcome=Outcome.CONFIRMS)
RECORD = Record(
    id="r1",
    kind=Kind.FIX,
    slot="payments/amount",
    topic="create_payment",
    issuer=ISSUER,
    content={"set": {"amount": 12}, "hint": None},
    valid=Interval(1, 2),
    scope=Scope(tenant="t", purpose="p"),
    stamps=vector([Stamp(ROW, "r1", "1"), Stamp(RULES, "f"), Stamp(ROW._replace(key="x"), None)]),
    receipts=(RECEIPT,),
    epoch=3,
)


def test_a_record_survives_being_written_and_read() -> None:
    written = decode(encode(RECORD.as_json()))
    assert Record.from_json("r1", written) == RECORD
    assert Record.from_json("r1", written, Status.EVICTED) == replace(RECORD, status=Status.EVICTED)


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        ({"kind": "opinion"}, "kind"),
        ({"kind": 1}, "record"),
        ({"slot": None}, "record"),
        ({"content": []}, "record"),
        ({"valid": [1]}, "record"),
        ({"valid": [2, 1]}, "until"),
        ({"topic": 1}, "record"),
        ({"issuer": 1}, "record"),
        ({"scope": [None]}, "scope"),
        ({"stamps": {}}, "record"),
        ({"stamps": [1]}, "stamp"),
        ({"receipts": [1]}, "receipt"),
        ({"receipts": [["o", list(TABLE), 1, "ab", "maybe"]]}, "receipt"),
        ({"epoch": "1"}, "record"),
    ],
)
def test_what_is_no_record_is_refused(edit: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        Record.from_json("r1", RECORD.as_json() | edit)
    assert refusal.value.field == field


def test_a_record_that_lacks_a_member_is_refused() -> None:
    for member in RECORD.as_json():
        less = {name: value for name, value in RECORD.as_json().items() if name != member}
        with pytest.raises(InvalidValue):
            Record.from_json("r1", less)


def test_a_record_says_what_it_rests_on() -> None:
    assert list(RECORD.rests_on()) == [(TABLE, "1"), (RULES, "f")]
    known = Record.from_json("r1", RECORD.as_json() | {"stamps": [[list(TABLE), "7", None]]})
    assert list(known.rests_on()) == [(TABLE, "7")]
    premise = Stamp(Source.premise("w", "hotel"), "1")
    assert list(replace(RECORD, stamps=(premise,)).rests_on()) == []


def test_restamping_moves_only_what_is_under_the_table() -> None:
    record = replace(RECORD, stamps=vector([*RECORD.stamps, Stamp(TABLE, "1")]))
    moved = record.restamped(TABLE, "2")
    assert {str(stamp.source): (stamp.version, stamp.within) for stamp in moved.stamps} == {
        "https://api.example/limits": ("2", None),
        "https://api.example/limits:rma": ("r1", "2"),
        "https://api.example/limits:x": (None, "2"),
        "https://api.example/rules": ("f", None),
    }
    assert replace(moved, stamps=record.stamps) == record


def test_a_status_and_a_receipt_make_another_record() -> None:
    assert RECORD.with_status(Status.ACTIVE) is RECORD
    assert RECORD.with_status(Status.EVICTED) == replace(RECORD, status=Status.EVICTED)
    assert RECORD.with_receipt(RECEIPT).receipts == (RECEIPT, RECEIPT)


def test_a_tombstone_says_nothing_but_its_id() -> None:
    tombstone = Record.purged("r1")
    assert (tombstone.id, tombstone.status) == ("r1", Status.PURGED)
    assert not any((tombstone.slot, tombstone.content, tombstone.stamps, tombstone.receipts))


@pytest.mark.parametrize(
    ("interval", "instant", "holds"),
    [
        (Interval(1), 0, False),
        (Interval(1), 1, True),
        (Interval(1), 10**18, True),
        (Interval(1, 3), 2, True),
        (Interval(1, 3), 3, False),
        (Interval(1, 1), 1, False),
    ],
)
def test_an_interval_holds_from_its_beginning_until_before_its_end(
    interval: Interval, instant: int, *, holds: bool
) -> None:
    assert interval.holds_at(instant) is holds


def test_an_interval_does_not_end_before_it_begins() -> None:
    with pytest.raises(InvalidValue, match="until is 0: pass an instant at or after since"):
        Interval(1, 0)


@pytest.mark.parametrize(
    ("mine", "asked", "admits"),
    [
        (EVERYWHERE, EVERYWHERE, True),
        (EVERYWHERE, Scope(tenant="a"), True),
        (Scope(tenant="a"), Scope(tenant="a", role="x"), True),
        (Scope(tenant="a"), Scope(tenant="b"), False),
        (Scope(tenant="a"), EVERYWHERE, False),
        (Scope(tenant="a", task="t"), Scope(tenant="a"), False),
        (Scope(tenant=""), Scope(tenant=None), False),
    ],
)
def test_every_limit_has_to_be_met_by_name(mine: Scope, asked: Scope, *, admits: bool) -> None:
    assert mine.admits(asked) is admits
    assert Scope.from_json(decode(encode(mine.as_json()))) == mine


@pytest.mark.parametrize("value", [None, [None] * 4, [None] * 4 + [1], "abcde"])
def test_what_is_no_scope_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue):
        Scope.from_json(value)
