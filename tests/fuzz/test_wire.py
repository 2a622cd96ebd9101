"""Whatever a peer sends, reading it ends, says what was left out, and never raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lapse.contract import Envelope, TableChanges, is_name
from lapse.errors import MalformedMessage
from lapse.ledger import canonical
from lapse.wire import (
    Limits,
    Reading,
    read_changes,
    read_reload_request,
    read_response,
    suggestion_members,
    write_envelope,
)

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["\ud800", "\x00", "a:b", "x" * 600, "1.0.0", "cacheable", "recompute"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["table", "version", "key"]), inner)
    ),
    max_leaves=8,
)
SUGGESTIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("A") | JUNK,
        "action": JUNK,
        "parameters": JUNK,
        "cache_hint": st.sampled_from(["cacheable", "recompute"]) | JUNK,
        "table": JUNK,
        "tables": JUNK | st.lists(st.fixed_dictionaries({"table": JUNK, "version": JUNK})),
        "rows": JUNK
        | st.lists(st.fixed_dictionaries({"table": JUNK, "key": JUNK, "version": JUNK})),
        "when": JUNK,
        "later": JUNK,
    },
)
SHAPED: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "success": st.booleans() | JUNK,
        "rules_version": st.just("ec524f499ebe") | JUNK,
        "table_versions": JUNK | st.dictionaries(st.text(max_size=3), st.text(max_size=3) | JUNK),
        "recovery_feedback": JUNK
        | st.fixed_dictionaries({"suggestions": JUNK | st.lists(SUGGESTIONS, max_size=4)}),
    },
)
HEADER_NAMES = st.sampled_from(
    ["Contract-Versions", "contract-rules", "CONTRACT-LOCATION", "Content-Type", "x"]
)
HEADER_VALUES = st.text(max_size=30) | st.binary(max_size=30) | st.sampled_from(
    ['"a";v="1"', '"a";v="1", ', '%"%c3%a9";v=%"%ff"', "application/json", "text/html", '"' * 9]
)  # fmt: skip
HEADERS = st.lists(st.tuples(HEADER_NAMES | st.binary(max_size=9), HEADER_VALUES), max_size=5)


def sound(reading: Reading) -> None:
    """What was taken in can be named, kept, compared and written again."""
    envelope = reading.envelope
    for table, version in (envelope.table_versions or {}).items():
        assert is_name(table)
        assert is_name(version)
    for suggestion in envelope.suggestions:
        canonical(suggestion_members(suggestion))
    for refusal in reading.refusals:
        assert refusal.where.isprintable()
        assert len(refusal.where) < 400
    again = read_response({}, write_envelope(envelope)).envelope
    assert again.suggestions == envelope.suggestions
    assert again.table_versions == envelope.table_versions


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


@given(HEADERS, st.none() | st.binary(max_size=200))
@pytest.mark.requirement("C-ENV-07")
def test_any_bytes(headers: list[tuple[Any, Any]], body: bytes | None) -> None:
    sound(read_response(headers, body))


@given(st.dictionaries(HEADER_NAMES, st.text(max_size=20)), SHAPED)
@pytest.mark.requirement("C-ENV-07")
def test_envelopes_that_are_nearly_right(headers: dict[str, str], value: Any) -> None:
    headers.pop("Content-Type", None)
    sound(read_response(headers, encoded(value)))


@given(SHAPED, st.data())
@pytest.mark.requirement("C-ENV-07")
def test_envelopes_whose_bytes_were_damaged(value: Any, data: st.DataObject) -> None:
    body = bytearray(encoded(value))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body)))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    sound(read_response({}, bytes(body)))


@given(SHAPED, st.integers(1, 50), st.integers(1, 5))
def test_small_limits_hold(value: Any, values: int, depth: int) -> None:
    limits = Limits(values=values, depth=depth, suggestions=2, body_bytes=10_000)
    reading = read_response({}, encoded(value), limits=limits)
    assert len(reading.envelope.suggestions) <= 2
    assert len(reading.envelope.table_versions or {}) <= values
    sound(reading)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"success":['])
@pytest.mark.parametrize("depth", [100, 10_000, 1_000_000])
def test_deep_nesting_ends(opening: bytes, depth: int) -> None:
    assert read_response({}, opening * depth).envelope == Envelope()


@given(st.binary(max_size=100) | SHAPED.map(encoded) | JUNK.map(encoded))
@example(b'{"table":"t","since":"1","version":null,"complete":false}')
def test_changes_are_read_or_refused(body: bytes) -> None:
    try:
        changes = read_changes(body)
    except MalformedMessage:
        return
    assert isinstance(changes, TableChanges)
    assert all(is_name(key) for key in changes.rows)


@given(
    st.binary(max_size=100)
    | st.fixed_dictionaries({"table": JUNK, "rows": JUNK}, optional={"version": JUNK}).map(encoded)
)
@example(b'{"table":"t","rows":{}}')
def test_reload_requests_are_read_or_refused(body: bytes) -> None:
    try:
        asked = read_reload_request(body)
    except MalformedMessage:
        return
    assert is_name(asked.table)
    canonical(asked.rows)
