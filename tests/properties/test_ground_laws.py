"""Laws of what fixes rest on beside a digest: what is read is what was said, or nothing is."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.contract import CacheHint, Held, RowVersion, Suggestion, TableVersion
from lapse.ledger import canonical
from lapse.wire import read_response
from lapse.wire.references import compact_members, resolved

NAMES = st.text("ab.é\U0001f600-", min_size=1, max_size=4)
WORDS = st.sampled_from(["growth", "scale", "a b", "", "x" * 70, "é\U0001f600x"]) | NAMES
SCALARS: Any = WORDS | st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5])
REQUESTS: Any = st.dictionaries(
    NAMES,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
NOTHING: st.SearchStrategy[dict[str, Any]] = st.builds(dict[str, Any])
HEX = st.text("0123456789abcdef", min_size=12, max_size=12)
VERSIONS = st.none() | HEX | HEX | HEX | NAMES


def texts(value: object) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(cast("dict[str, object]", value).values())
    inside = cast("list[object]", value) if isinstance(value, list) else []
    return [text for inner in inside for text in texts(inner)]


def scalars(members: dict[str, Any], before: str = "") -> dict[str, Any]:
    """The values of an object that are no containers, under names that begin so."""
    found: dict[str, Any] = {}
    for name, value in members.items():
        if not isinstance(value, (dict, list)):
            found[before + name] = value
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[Suggestion, Held, dict[str, Any]]:
    """A fix, the map and the request that it answers."""
    request, parameters = draw(REQUESTS), draw(REQUESTS)
    versions = draw(st.dictionaries(NAMES, NAMES, min_size=1, max_size=5))
    known = st.sampled_from([text for text in texts([request, parameters]) if text] or ["k"])
    keys = (known | NAMES | st.tuples(known, NAMES, known).map("".join)).map(lambda k: k[:512])
    named = draw(st.lists(st.sampled_from(sorted(versions)), min_size=1, unique=True))
    rows = draw(
        st.lists(
            st.builds(RowVersion, st.sampled_from(named), keys, VERSIONS),
            max_size=4,
            unique_by=lambda row: (row.table, row.key),
        )
    )
    conditions: dict[str, Any] = {}
    for name, value in request.items():
        if isinstance(value, dict):
            conditions |= scalars(cast("dict[str, Any]", value), f"{name}.")
    conditions |= scalars(request)
    chosen = draw(st.sets(st.sampled_from(sorted(conditions)))) if conditions else set[str]()
    others: dict[str, Any] = draw(st.dictionaries(NAMES, SCALARS, max_size=2) | NOTHING)
    when: dict[str, Any] = {path: conditions[path] for path in chosen} | others
    fix = Suggestion(
        type="SET",
        parameters=parameters,
        cache_hint=CacheHint.CACHEABLE,
        table=draw(st.sampled_from(named)),
        tables=tuple(TableVersion(t, versions[t]) for t in named),
        rows=tuple(rows),
        when=draw(st.none() | st.just(when) | st.just(when)),
        more=draw(NOTHING | st.dictionaries(st.sampled_from(["r", "on", "own"]), WORDS)),
    )
    return fix, Held(versions), request


def read(members: dict[str, Any]) -> Suggestion:
    """A suggestion as a client reads it off the wire."""
    body = {"recovery_feedback": {"suggestions": [members]}}
    reading = read_response((), json.dumps(body, ensure_ascii=False).encode())
    assert reading.refusals == ()
    (suggestion,) = reading.envelope.suggestions
    return suggestion


def meaning(fix: Suggestion) -> tuple[object, ...]:
    """What a suggestion says; the order of tables and rows says nothing."""
    when = None if fix.when is None else canonical(dict(fix.when))
    rests = frozenset(fix.tables), frozenset(fix.rows), when
    return fix.type, fix.cache_hint, fix.table, canonical(dict(fix.parameters)), fix.more, *rests


@given(cases())
@settings(derandomize=True, deadline=None)
@pytest.mark.requirement("C-DIG-22", "C-DIG-23", "C-DIG-24", "C-DIG-25", "C-DIG-26")
def test_what_is_said_of_a_request_is_read_as_it_was_meant(
    case: tuple[Suggestion, Held, dict[str, Any]],
) -> None:
    fix, held, request = case
    said = compact_members(fix, held, request)
    found = resolved(read(said), held, request)
    assert found is not None
    assert meaning(found) == meaning(fix)
    assert len(json.dumps(said)) <= len(json.dumps(compact_members(fix, held)))
    for name, value in fix.more.items():
        assert said[name] == value


@given(cases(), REQUESTS, st.dictionaries(NAMES, NAMES, min_size=1, max_size=5))
@settings(derandomize=True, deadline=None)
@pytest.mark.requirement("C-DIG-26", "C-DIG-27")
def test_beside_another_request_or_map_it_says_the_same_or_nothing(
    case: tuple[Suggestion, Held, dict[str, Any]], other: dict[str, Any], versions: dict[str, str]
) -> None:
    fix, held, request = case
    said = compact_members(replace(fix, more={}), held, request)
    if "r" not in said:
        return
    suggestion = read(said)
    for found in (resolved(suggestion, held, other), resolved(suggestion, held, None)):
        assert found is None or meaning(found) == meaning(replace(fix, more={}))
    elsewhere = resolved(suggestion, Held(versions), request)
    assert elsewhere is None or versions == held.table_versions


TEXTS = st.text("ABCDZaz09-_.!é\x00", max_size=40) | st.text(max_size=20)


@given(TEXTS | REQUESTS | st.integers() | st.none(), REQUESTS, REQUESTS)
@settings(deadline=None)
@pytest.mark.requirement("C-DIG-27")
def test_no_text_makes_a_reader_fail(
    said: object, request: dict[str, Any], parameters: dict[str, Any]
) -> None:
    fix = Suggestion(type="SET", parameters=parameters, more={"r": said})
    found = resolved(fix, Held({"codes": "1", "plans": "2"}), request)
    assert found is None or {entry.table for entry in found.tables} <= {"codes", "plans"}


# -- by hand, from the clauses ---------------------------------------------------------------------

HELD = Held({"codes": "1.0.0", "plans": "2"})
REQUEST = {"count": 3, "order": {"plan": "growth"}, "plan": "scale"}
PARAMETERS = {"code": "SCALE10"}
VERSION = "0123456789ab"
SHORT = "ASNFZ4mr"  # the same six bytes in base64url
COUNT, GROWTH, SCALE, CODE = range(4)  # the places


def check(rows: list[list[str]], when: dict[str, Any] | None, tables: tuple[str, ...]) -> str:
    vector = [[table, HELD.table_versions[table]] for table in sorted(tables)]
    value = [HELD.tag, vector, sorted(rows), when]
    return urlsafe_b64encode(sha256(canonical(value)).digest()).decode()[:3]


def entry(table: int, kind: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[table * (2 + 4) + kind]


def read_by_hand(text: str, when: dict[str, Any] | None = None) -> Suggestion | None:
    fix = Suggestion(type="SET", parameters=PARAMETERS, when=when, more={"r": text})
    return resolved(fix, HELD, REQUEST)


@pytest.mark.requirement("C-DIG-23", "C-DIG-24", "C-DIG-25", "C-DIG-26")
@pytest.mark.parametrize(
    ("items", "rows", "when", "tables", "left"),
    [
        (entry(0, 0), [], None, ("codes",), None),
        (entry(0, 2 + SCALE) + SHORT, [("scale", VERSION)], {"plan": "scale"}, ("codes",), None),
        (
            entry(0, 2 + GROWTH) + SHORT + entry(1, 0),
            [("growth", VERSION)],
            {"order.plan": "growth"},
            ("codes", "plans"),
            None,
        ),
        (entry(0, 2 + CODE) + SHORT, [("SCALE10", VERSION)], None, ("codes",), None),
        (entry(0, 2 + SCALE) + SHORT + "!", [("scale", VERSION)], None, ("codes",), None),
        (entry(0, 2 + SCALE) + SHORT + ".", [("scale", VERSION)], {}, ("codes",), None),
        (entry(0, 2 + SCALE) + SHORT + ".A", [("scale", VERSION)], {"count": 3}, ("codes",), None),
        (
            entry(0, 2 + CODE) + SHORT + ".A",
            [("SCALE10", VERSION)],
            {"count": 3, "b": None},
            ("codes",),
            {"b": None},
        ),
        # A composed key: a place, a text of five characters, a place.
        (
            entry(0, 1) + "D" + "D" + "AF with" + "E" + SHORT,
            [("scale withSCALE10", VERSION)],
            {"plan": "scale"},
            ("codes",),
            None,
        ),
        (entry(0, 1) + "h" + "D", [("scale", None)], {"plan": "scale"}, ("codes",), None),
    ],
)
def test_a_text_made_by_hand_is_read(
    items: str,
    rows: list[tuple[str, str | None]],
    when: dict[str, Any] | None,
    tables: tuple[str, ...],
    left: dict[str, Any] | None,
) -> None:
    said = check([["codes", key, version or ""] for key, version in rows], when, tables) + items
    found = read_by_hand(said, left)
    assert found is not None
    assert found.rows == tuple(RowVersion("codes", key, version) for key, version in rows)
    assert found.when == when
    assert found.table == tables[0]
    assert found.tables == tuple(TableVersion(t, HELD.table_versions[t]) for t in tables)
    assert found.cache_hint is CacheHint.CACHEABLE
    assert found.more == {}
    assert read_by_hand("AAA" + items, left) is None


SCALED = [["codes", "scale", VERSION]]


@pytest.mark.requirement("C-DIG-27")
@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("", None),
        (check([], None, ()), None),  # no table
        (check([], None, ("plans",)) + entry(2, 0), None),  # a third table
        (check(SCALED, {"plan": "scale"}, ("codes",)) + entry(0, 4) + SHORT[:-1], None),  # cut off
        (check(SCALED, {"plan": "scale"}, ("codes",)) + entry(0, 4) + SHORT + "!!", None),
        (check(SCALED, {"plan": "scale"}, ("codes",)) + entry(0, 4) + SHORT + "?", None),
        (check([["codes", "3", VERSION]], {"count": 3}, ("codes",)) + entry(0, 2) + SHORT, None),
        (check([["codes", "", VERSION]], None, ("codes",)) + entry(0, 1) + "A" + SHORT, None),
        (check(SCALED * 2, {"plan": "scale"}, ("codes",)) + (entry(0, 4) + SHORT) * 2, None),
        # A condition on a parameter, on no place, twice; a key of a place that is not there.
        (check(SCALED, {"code": "SCALE10"}, ("codes",)) + entry(0, 4) + SHORT + ".D", None),
        (check(SCALED, {}, ("codes",)) + entry(0, 4) + SHORT + ".Z", None),
        (check(SCALED, {"plan": "x"}, ("codes",)) + entry(0, 4) + SHORT, {"plan": "x"}),
        (check([["codes", "", VERSION]], None, ("codes",)) + entry(0, 1) + "BZ" + SHORT, None),
        (check([], None, ("codes",)) + entry(0, 0) * 5_000, None),
    ],
)
def test_what_cannot_be_read_is_not_guessed(said: str, left: dict[str, Any] | None) -> None:
    assert read_by_hand(said, left) is None


@pytest.mark.requirement("C-DIG-27")
@pytest.mark.parametrize(
    "member", [{"cache_hint": "later"}, {"when": 7}, {"cache_hint": "recompute"}]
)
def test_what_stands_beside_it_counts(member: dict[str, Any]) -> None:
    said = check(SCALED, {"plan": "scale"}, ("codes",)) + entry(0, 4) + SHORT
    members = {"type": "SET", "parameters": PARAMETERS, "r": said, **member}
    body = json.dumps({"recovery_feedback": {"suggestions": [members]}}).encode()
    (suggestion,) = read_response((), body).envelope.suggestions
    found = resolved(suggestion, HELD, REQUEST)
    assert found is None or (found.table, found.rows) == (None, ())


@pytest.mark.requirement("C-DIG-22")
def test_most_fixes_are_said_in_short() -> None:
    fix = Suggestion(
        type="SET",
        parameters=PARAMETERS,
        cache_hint=CacheHint.CACHEABLE,
        table="codes",
        tables=(TableVersion("codes", "1.0.0"),),
        rows=(RowVersion("codes", "scale", VERSION),),
        when={"plan": "scale"},
    )
    said = check(SCALED, {"plan": "scale"}, ("codes",)) + entry(0, 4) + SHORT
    assert compact_members(fix, HELD, REQUEST) == {
        "type": "SET",
        "parameters": PARAMETERS,
        "r": said,
    }
    # Not at Level 1, nor where the version is another service's, nor that of another map.
    for other in (
        replace(fix, tables=()),
        replace(fix, rows=(RowVersion("codes", "scale", "v7"),)),
        replace(fix, tables=(TableVersion("codes", "0.9"),)),
        replace(fix, table="plans"),
        replace(fix, cache_hint=None),
    ):
        assert "r" not in compact_members(other, HELD, REQUEST)
