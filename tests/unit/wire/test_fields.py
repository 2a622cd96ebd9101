"""The header mirrors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Envelope, is_name
from lapse.wire import (
    FIELD_BYTES,
    Limits,
    Reason,
    Refusal,
    contract_fields,
    read_response,
    versions_field,
)

NAMES = st.text(min_size=1, max_size=20).filter(is_name)


@given(st.dictionaries(NAMES, NAMES, min_size=1, max_size=5), NAMES)
@pytest.mark.requirement("C-HDR-01", "C-HDR-02", "C-HDR-03", "C-HDR-05")
def test_what_is_written_is_read_back(versions: dict[str, str], rules: str) -> None:
    lines = contract_fields(
        table_versions=versions, rules_version=rules, location="/contract", limit=10**6
    )
    assert all(value.isascii() and value.isprintable() for _, value in lines)
    reading = read_response([(n.encode(), v.encode()) for n, v in lines], None)
    assert reading.refusals == ()
    assert reading.envelope == Envelope(
        table_versions=versions, rules_version=rules, location="/contract"
    )


@pytest.mark.requirement("C-HDR-01", "C-HDR-02")
def test_the_mirrors_as_they_are_printed() -> None:
    lines = contract_fields(
        table_versions={"token_funding_map": "1.0.0", "é": '"\\%'},
        rules_version="ec524f499ebe",
        location="/contract",
    )
    assert lines == [
        ("Contract-Versions", '"token_funding_map";v="1.0.0", %"%c3%a9";v="\\"\\\\%"'),
        ("Contract-Rules", '"ec524f499ebe"'),
        ("Contract-Location", '"/contract"'),
    ]
    assert contract_fields(table_versions=None, rules_version=None, location=None) == []


@pytest.mark.requirement("C-HDR-04")
def test_a_map_that_is_too_long_is_left_out_whole() -> None:
    versions = {f"table_{n:04}": "1.0.0" for n in range(200)}
    assert versions_field(versions) is None
    assert versions_field({}) is None
    field = versions_field(versions, limit=10**6)
    assert field is not None
    assert len(field) > FIELD_BYTES
    assert versions_field(versions, limit=len(field)) == field
    assert versions_field(versions, limit=len(field) - 1) is None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("Contract-Versions", "a;v=1", Reason.MALFORMED_FIELD),
        ("Contract-Versions", '"a"', Reason.MALFORMED_FIELD),
        ("Contract-Versions", '("a" "b");v="1"', Reason.MALFORMED_FIELD),
        ("Contract-Versions", '"a";v=', Reason.MALFORMED_FIELD),
        ("Contract-Versions", '%"%ff";v="1"', Reason.MALFORMED_FIELD),
        ("Contract-Versions", "\xe9", Reason.MALFORMED_FIELD),
        ("Contract-Versions", "\u20ac", Reason.MALFORMED_FIELD),
        ("Contract-Versions", '"a";v="1", "a";v="2"', Reason.DUPLICATE_KEY),
        ("Contract-Versions", '"";v="1"', Reason.BAD_NAME),
        ("Contract-Versions", '%"%0a";v="1"', Reason.BAD_NAME),
        ("Contract-Rules", "abc", Reason.MALFORMED_FIELD),
        ("Contract-Rules", '"a" b', Reason.MALFORMED_FIELD),
        ("Contract-Rules", "7", Reason.MALFORMED_FIELD),
        ("Contract-Rules", '""', Reason.BAD_NAME),
        ("Contract-Location", "/contract", Reason.MALFORMED_FIELD),
    ],
)
@pytest.mark.requirement("C-ENV-07")
def test_a_mirror_that_cannot_be_read_is_left_out(name: str, value: str, reason: Reason) -> None:
    reading = read_response({name.upper(): value}, None)
    assert reading.envelope == Envelope()
    assert reading.refusals == (Refusal(reason, name),)


@pytest.mark.parametrize("name", ["Contract-Versions", "Contract-Rules", "Contract-Location"])
def test_a_mirror_beyond_the_limit_is_not_looked_at(name: str) -> None:
    reading = read_response({name: '"' + "x" * 100 + '"'}, None, limits=Limits(field_bytes=100))
    assert reading.envelope == Envelope()
    assert reading.refusals == (Refusal(Reason.TOO_LARGE, name.lower()),)


def test_lines_of_one_field_are_one_list() -> None:
    lines = [("contract-versions", b'"a";v="1"'), (b"Contract-Versions", '"b";v="2"')]
    assert read_response(lines, None).envelope.table_versions == {"a": "1", "b": "2"}


@pytest.mark.requirement("C-HDR-07")
def test_the_body_counts_before_the_mirror() -> None:
    headers = {"Contract-Versions": '"a";v="1"', "Contract-Rules": '"r"'}
    body = b'{"table_versions": {"a": "2"}, "rules_version": "s"}'
    reading = read_response(headers, body)
    assert reading.envelope == Envelope(table_versions={"a": "2"}, rules_version="s")
    assert {r.reason for r in reading.refusals} == {Reason.DISAGREES}
    assert {r.where for r in reading.refusals} == {"Contract-Versions", "Contract-Rules"}
    same = read_response(headers, b'{"table_versions": {"a": "1"}, "rules_version": "r"}')
    assert same.refusals == ()


@pytest.mark.requirement("C-HDR-07")
def test_the_mirror_stands_in_for_a_member_that_is_not_there() -> None:
    headers = {"Contract-Versions": '"a";v="1"', "Contract-Rules": '"r"'}
    for body in (None, b"<html>", b'{"success": true}', b'{"table_versions": 3}'):
        envelope = read_response(headers, body).envelope
        assert (envelope.table_versions, envelope.rules_version) == ({"a": "1"}, "r")
    broken = {"Contract-Versions": "?", "Contract-Rules": "?"}
    body = b'{"table_versions": {"a": "2"}, "rules_version": "s"}'
    assert read_response(broken, body).envelope == Envelope(
        table_versions={"a": "2"}, rules_version="s"
    )
