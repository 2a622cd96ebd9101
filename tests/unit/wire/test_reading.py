"""Reading: what is taken in, and what is left out and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lapse.contract import CacheHint, Envelope, RowVersion, Suggestion, TableChanges, TableVersion
from lapse.errors import InvalidValue, MalformedMessage
from lapse.wire import (
    DEFAULT_LIMITS,
    Limits,
    Reading,
    Reason,
    Refusal,
    read_changes,
    read_reload_request,
    read_response,
)

JSON = {"content-type": "application/json"}

# As the source text prints it (section 3.2, Levels 1, 4 and 6 in one).
LISTING = {
    "success": False,
    "recovery_feedback": {
        "suggestions": [
            {
                "type": "USE_REQUIRED_FUNDING_TYPE",
                "parameters": {"payment_method_token": "acme_pm_visa_credit"},
                "cache_hint": "cacheable",
                "table": "recommended_credit_token",
                "tables": [
                    {"table": "token_funding_map", "version": "1.0.0"},
                    {"table": "recommended_credit_token", "version": "1.0.0"},
                ],
            }
        ]
    },
    "table_versions": {"recommended_credit_token": "1.0.0", "token_funding_map": "1.0.0"},
    "rules_version": "ec524f499ebe",
}


def read(value: object, *, limits: Limits = DEFAULT_LIMITS) -> Reading:
    return read_response(JSON, json.dumps(value).encode(), limits=limits)


def suggestion(**members: Any) -> Reading:
    return read({"recovery_feedback": {"suggestions": [{"type": "A", **members}]}})


def refused(reading: Reading) -> list[tuple[Reason, str]]:
    return [(refusal.reason, refusal.where) for refusal in reading.refusals]


@pytest.mark.requirement("C-ENV-01", "C-ENV-02", "C-ENV-03", "C-ENV-04", "C-ENV-05")
def test_the_listing_of_the_source_text() -> None:
    assert read(LISTING) == Reading(
        Envelope(
            success=False,
            suggestions=(
                Suggestion(
                    type="USE_REQUIRED_FUNDING_TYPE",
                    parameters={"payment_method_token": "acme_pm_visa_credit"},
                    cache_hint=CacheHint.CACHEABLE,
                    table="recommended_credit_token",
                    tables=(
                        TableVersion("token_funding_map", "1.0.0"),
                        TableVersion("recommended_credit_token", "1.0.0"),
                    ),
                ),
            ),
            table_versions={"recommended_credit_token": "1.0.0", "token_funding_map": "1.0.0"},
            rules_version="ec524f499ebe",
        )
    )


@pytest.mark.parametrize(
    "body", [None, b"", b"{}", b"[]", b"3", b"null", b'{"data": 1}', b'{"success": null}']
)
@pytest.mark.requirement("C-ENV-01")
def test_a_response_that_says_nothing_is_level_0(body: bytes | None) -> None:
    assert read_response({}, body) == Reading(Envelope())


@pytest.mark.parametrize("content_type", ["text/html", "image/png; x=json", "application/xml"])
def test_what_is_not_json_is_not_read(content_type: str) -> None:
    assert read_response({"Content-Type": content_type}, b'{"success": true') == Reading(Envelope())


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "APPLICATION/JSON;charset=utf-8", "application/problem+json"],
)
def test_what_is_json_is_read(content_type: str) -> None:
    reading = read_response([(b"Content-Type", content_type.encode())], b'{"success": true}')
    assert reading.envelope.success is True


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", Reason.MALFORMED_JSON),
        (b'{"success": true}}', Reason.MALFORMED_JSON),
        (b"\xff{}", Reason.NOT_UTF8),
        ('{"success": true}'.encode("utf-16"), Reason.NOT_UTF8),
        (b"[" * 10_000, Reason.TOO_DEEP),
        (b'{"a":' + b"1" * 5_000 + b"}", Reason.MALFORMED_JSON),
    ],
)
@pytest.mark.requirement("C-ENV-07", "C-ENV-08")
def test_a_body_that_cannot_be_read(body: bytes, reason: Reason) -> None:
    assert read_response({}, body) == Reading(Envelope(), (Refusal(reason, "body"),))


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read_response({}, b'\xef\xbb\xbf{"success": true}').envelope.success is True


@pytest.mark.requirement("C-ENV-07")
def test_a_body_beyond_the_limit_is_not_looked_at() -> None:
    body = b'{"success": true, "data": "' + b"x" * 100 + b'"}'
    assert read_response({}, body, limits=Limits(body_bytes=100)) == Reading(
        Envelope(), (Refusal(Reason.TOO_LARGE, "body"),)
    )


def test_a_long_body_is_parsed_only_if_it_may_hold_a_member() -> None:
    filler = b'"x": "' + b"y" * 20_000
    assert read_response({}, b"{" + filler) == Reading(Envelope())
    assert read_response({}, b'{"success": true, ' + filler + b'"}').envelope.success is True
    escaped = b'{"\\u0073uccess": true, ' + filler + b'"}'
    assert read_response({}, escaped).envelope.success is True


@pytest.mark.parametrize(
    ("members", "reason", "where"),
    [
        ({"success": "yes"}, Reason.WRONG_TYPE, "success"),
        ({"rules_version": 7}, Reason.WRONG_TYPE, "rules_version"),
        ({"rules_version": ""}, Reason.BAD_NAME, "rules_version"),
        ({"table_versions": ["a"]}, Reason.WRONG_TYPE, "table_versions"),
        ({"recovery_feedback": 3}, Reason.WRONG_TYPE, "recovery_feedback"),
        (
            {"recovery_feedback": {"suggestions": {}}},
            Reason.WRONG_TYPE,
            "recovery_feedback.suggestions",
        ),
    ],
)
@pytest.mark.requirement("C-ENV-07")
def test_a_member_of_the_wrong_type_is_left_out(
    members: dict[str, Any], reason: Reason, where: str
) -> None:
    reading = read(members)
    assert reading == Reading(Envelope(), (Refusal(reason, where),))
    beside = read({"success": True, "rules_version": "abc", **members})
    assert len(beside.refusals) == 1
    assert beside.envelope != Envelope()


@pytest.mark.requirement("C-ENV-07")
def test_bad_entries_of_the_version_map_are_left_out_where_they_stand() -> None:
    body = b'{"table_versions": {"a": "1", "b": 2, "": "3", "c": "", "d": "4", "d": "5"}}'
    reading = read_response({}, body)
    assert reading.envelope.table_versions == {"a": "1"}
    assert refused(reading) == [
        (Reason.WRONG_TYPE, "table_versions['b']"),
        (Reason.BAD_NAME, "table_versions['']"),
        (Reason.BAD_NAME, "table_versions['c']"),
        (Reason.DUPLICATE_KEY, "table_versions['d']"),
    ]
    assert read({"table_versions": {}}).envelope.table_versions == {}


def test_a_hostile_name_is_quoted_and_cut_short() -> None:
    reading = read({"table_versions": {"\n\u202e" + "x" * 100: "1"}})
    (refusal,) = reading.refusals
    assert refusal.where.isprintable()
    assert refusal.where.isascii()
    assert len(refusal.where) < 100


def test_a_version_map_beyond_the_limit_is_left_out_whole() -> None:
    reading = read({"table_versions": {str(n): "1" for n in range(30)}}, limits=Limits(values=20))
    assert reading == Reading(Envelope(), (Refusal(Reason.TOO_MANY, "table_versions"),))


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b'{"success": true, "success": false}', "success"),
        (
            b'{"recovery_feedback": {"suggestions": [], "suggestions": []}}',
            "recovery_feedback.suggestions",
        ),
        (
            b'{"recovery_feedback": {"suggestions": [{"type": "a", "type": "b"}]}}',
            "recovery_feedback.suggestions[0]",
        ),
        (
            b'{"recovery_feedback": {"suggestions": [{"type": "a", "when": {"x": 1, "x": 2}}]}}',
            "recovery_feedback.suggestions[0]",
        ),
    ],
)
@pytest.mark.requirement("C-ENV-07")
def test_a_member_named_twice_is_no_member(body: bytes, where: str) -> None:
    assert read_response({}, body) == Reading(Envelope(), (Refusal(Reason.DUPLICATE_KEY, where),))


def test_what_is_named_twice_elsewhere_does_not_matter() -> None:
    body = b'{"success": true, "data": {"x": 1, "x": 2}, "more": NaN}'
    assert read_response({}, body) == Reading(Envelope(success=True))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"NaN", Reason.BAD_NUMBER),
        (b"-Infinity", Reason.BAD_NUMBER),
        (b"1e999", Reason.BAD_NUMBER),
        (b"9007199254740992", Reason.BAD_NUMBER),
        (b'"\\ud800"', Reason.LONE_SURROGATE),
        (b'{"\\udfff": 1}', Reason.LONE_SURROGATE),
        (b"[" * 40 + b"]" * 40, Reason.TOO_DEEP),
        (b"[" + b"1," * 30_000 + b"1]", Reason.TOO_MANY),
    ],
)
@pytest.mark.requirement("C-ENV-07", "C-SUG-10")
def test_values_that_do_not_travel_cost_the_suggestion_they_stand_in(
    value: bytes, reason: Reason
) -> None:
    body = b'{"success": false, "recovery_feedback": {"suggestions": ['
    body += b'{"type": "A", "parameters": {"x": ' + value + b"}}, "
    body += b'{"type": "B", "parameters": {"x": 9007199254740991, "y": 1.5}}]}}'
    reading = read_response({}, body)
    assert [s.type for s in reading.envelope.suggestions] == ["B"]
    assert refused(reading) == [(reason, "recovery_feedback.suggestions[0]")]


@pytest.mark.requirement("C-SUG-01")
def test_action_is_another_word_for_type() -> None:
    reading = read({"recovery_feedback": {"suggestions": [{"action": "A"}]}})
    assert reading.envelope.suggestions[0] == Suggestion(type="A", parameters={})
    both = suggestion(action="B").envelope.suggestions[0]
    assert (both.type, both.more) == ("A", {"action": "B"})


@pytest.mark.requirement("C-SUG-02")
def test_no_parameters_are_empty_parameters() -> None:
    assert suggestion().envelope.suggestions[0].parameters == {}


@pytest.mark.parametrize(
    ("members", "reason", "where"),
    [
        ({"type": 3}, Reason.WRONG_TYPE, ".type"),
        ({"type": ""}, Reason.BAD_NAME, ".type"),
        ({"type": "x" * 513}, Reason.BAD_NAME, ".type"),
        ({"type": "a\nb"}, Reason.BAD_NAME, ".type"),
        ({"parameters": []}, Reason.WRONG_TYPE, ".parameters"),
        ({"table": 3}, Reason.WRONG_TYPE, ".table"),
        ({"table": "\x00"}, Reason.BAD_NAME, ".table"),
        ({"tables": {}}, Reason.WRONG_TYPE, ".tables"),
        ({"tables": [{"table": "t"}]}, Reason.MISSING, ".tables.0.version"),
        (
            {"tables": [{"table": "t", "version": "1"}, {"table": "t", "version": "2"}]},
            Reason.DISAGREES,
            "",
        ),
        (
            {"rows": [{"table": "t", "key": "k", "version": v} for v in ("1", None)]},
            Reason.DISAGREES,
            "",
        ),
    ],
)
@pytest.mark.requirement("C-SUG-10")
def test_a_suggestion_whose_ground_cannot_be_read_is_left_out(
    members: dict[str, Any], reason: Reason, where: str
) -> None:
    place = f"recovery_feedback.suggestions[0]{where}"
    assert suggestion(**members) == Reading(Envelope(), (Refusal(reason, place),))


def test_a_suggestion_is_an_object_with_a_type() -> None:
    offered: list[object] = [3, dict[str, object]()]
    reading = read({"recovery_feedback": {"suggestions": offered}})
    assert reading.envelope.suggestions == ()
    assert refused(reading) == [
        (Reason.WRONG_TYPE, "recovery_feedback.suggestions[0]"),
        (Reason.MISSING, "recovery_feedback.suggestions[1].type"),
    ]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"rows": [{"table": "t", "key": "k"}]}, Reason.MISSING),
        ({"rows": 3}, Reason.WRONG_TYPE),
        ({"when": ["plan"]}, Reason.WRONG_TYPE),
        ({"cache_hint": "for a day"}, Reason.UNKNOWN_VALUE),
        ({"cache_hint": 3}, Reason.UNKNOWN_VALUE),
    ],
)
@pytest.mark.requirement("C-SUG-03", "C-SUG-10", "C-ENV-06")
def test_a_suggestion_without_what_only_widens_it_is_kept(
    members: dict[str, Any], reason: Reason
) -> None:
    reading = suggestion(table="t", **members)
    assert reading.envelope.suggestions == (
        Suggestion(type="A", parameters={}, table="t", more=members),
    )
    assert [refusal.reason for refusal in reading.refusals] == [reason]


@pytest.mark.requirement("C-SUG-06")
def test_a_row_that_was_not_there_has_no_version() -> None:
    rows = [{"table": "t", "key": "k", "version": None}]
    assert suggestion(rows=rows).envelope.suggestions[0].rows == (RowVersion("t", "k", None),)


@pytest.mark.requirement("C-ENV-07")
def test_more_suggestions_than_the_limit_are_left_out() -> None:
    many = [{"type": str(n)} for n in range(5)]
    reading = read({"recovery_feedback": {"suggestions": many}}, limits=Limits(suggestions=3))
    assert [s.type for s in reading.envelope.suggestions] == ["0", "1", "2"]
    assert refused(reading) == [(Reason.TOO_MANY, "recovery_feedback.suggestions")]


@pytest.mark.parametrize("bound", ["body_bytes", "field_bytes", "suggestions", "depth", "values"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5])
def test_a_limit_lets_something_through(bound: str, value: Any) -> None:
    with pytest.raises(InvalidValue, match=bound):
        Limits(**{bound: value})


CHANGES: dict[str, Any] = {
    "table": "codes",
    "since": "1",
    "version": "2",
    "complete": True,
    "rows": {"growth": "abc", "scale": None},
    "downstream": [{"table": "promo", "key": "S"}],
    "later": [1],
}


@pytest.mark.requirement("C-CHG-01", "C-ENV-06")
def test_a_list_of_changes() -> None:
    assert read_changes(json.dumps(CHANGES).encode()) == TableChanges(
        table="codes",
        since="1",
        version="2",
        complete=True,
        rows={"growth": "abc", "scale": None},
        downstream=(("promo", "S"),),
    )
    short = {"table": "t", "since": "1", "version": None, "complete": False}
    assert read_changes(json.dumps(short).encode()).rows == {}


@pytest.mark.parametrize(
    "change",
    [
        {"rows": {"growth": 3}},
        {"rows": {"": "abc"}},
        {"rows": []},
        {"complete": "yes"},
        {"complete": 1},
        {"version": 2},
        {"table": None},
        {"downstream": [{"table": "promo"}]},
        {"downstream": ["promo:S"]},
        {"later": float("nan")},
    ],
)
@pytest.mark.requirement("C-ENV-07")
def test_a_list_of_changes_is_read_whole_or_not_at_all(change: dict[str, Any]) -> None:
    with pytest.raises(MalformedMessage):
        read_changes(json.dumps(CHANGES | change).encode())


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[]", b"null", b'{"rows":{"a":"1","a":"2"}}']
)
def test_what_is_no_list_of_changes(body: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_changes(body)


@pytest.mark.requirement("C-RLD-01")
def test_a_reload_request() -> None:
    asked = read_reload_request(b'{"table": "t", "rows": {"k": [1, null]}, "version": "2"}')
    assert (asked.table, asked.rows, asked.version) == ("t", {"k": [1, None]}, "2")
    gone = read_reload_request(b'{"table": "t", "rows": null}')
    assert (gone.rows, gone.version) == (None, None)
    with pytest.raises(MalformedMessage, match=r"rows: missing"):
        read_reload_request(b'{"table": "t"}')
