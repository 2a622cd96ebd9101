"""Reading a tool result: three channels, any of which may be lost, none trusted blindly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import CacheHint, Envelope, Level, RowVersion, Suggestion, TableVersion
from lapse.wire import Problem, Reason
from lapse.wire.mcp import (
    KEY,
    ToolReading,
    changes_uri,
    error_members,
    error_text,
    parse_uri,
    read_tool_result,
    stamps,
    table_uri,
)

FIX = Suggestion(
    type="ADD_CODE",
    parameters={"code": "SUMMER25"},
    cache_hint=CacheHint.CACHEABLE,
    table="codes",
    tables=(TableVersion("codes", "1.0.0"),),
    rows=(RowVersion("codes", "growth", "e338957aa906"),),
    when={"plan": "growth"},
)
ENVELOPE = Envelope(
    success=False,
    suggestions=(FIX,),
    table_versions={"codes": "1.0.0", "other": "7"},
    rules_version="4f53cda18c2b",
)
PROBLEM = Problem(type="/p#x", title="Another code", status=422, detail="Not the one on file")


def result(envelope: Envelope = ENVELOPE, *, failed: bool = True) -> dict[str, Any]:
    """An error as a server of Level 6 writes it, after a trip over the wire."""
    written = {
        "content": [{"type": "text", "text": error_text(PROBLEM, envelope)}],
        "structuredContent": error_members(PROBLEM, envelope),
        "isError": failed,
        "_meta": {KEY: stamps(Level.L6, envelope), "io.example/other": 1},
    }
    return json.loads(json.dumps(written))


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: member for name, member in value.items() if name not in names}


@pytest.mark.requirement("C-MCP-13")
def test_all_three_channels_say_the_whole_envelope() -> None:
    assert read_tool_result(result()) == ToolReading(ENVELOPE, told=True)


@pytest.mark.requirement("C-MCP-13")
@pytest.mark.parametrize(
    ("lost", "success"), [("content", False), ("structuredContent", None), ("_meta", False)]
)
def test_any_one_channel_may_be_lost(lost: str, success: object) -> None:
    reading = read_tool_result(without(result(), lost))
    assert reading.refusals == ()
    assert not reading.hearsay
    assert reading.told is (lost != "content")
    assert reading.envelope == Envelope(
        success=None if success is None else False,
        suggestions=(FIX,),
        table_versions={"codes": "1.0.0", "other": "7"},
        rules_version="4f53cda18c2b",
    )


@pytest.mark.requirement("C-MCP-16")
def test_what_only_the_text_says_is_hearsay() -> None:
    reading = read_tool_result(without(result(), "structuredContent", "_meta"))
    assert reading == ToolReading(Envelope(suggestions=(FIX,)), hearsay=True, told=True)


@pytest.mark.requirement("C-MCP-04")
def test_a_text_without_a_vector_carries_the_versions_it_needs_and_no_others() -> None:
    bare = Suggestion(type="A", parameters={"a": 1}, cache_hint=CacheHint.CACHEABLE, table="codes")
    envelope = Envelope(
        success=False, suggestions=(bare,), table_versions={"codes": "1.0.0", "other": "7"}
    )
    text_alone = without(result(envelope), "structuredContent", "_meta")
    assert read_tool_result(text_alone).envelope == Envelope(
        suggestions=(bare,), table_versions={"codes": "1.0.0"}
    )


def test_the_text_is_one_sentence_and_one_line_of_json() -> None:
    problem = Problem(type="/p", title="Line\none", status=422, detail="two\n{lines}")
    sentence, members = error_text(problem, ENVELOPE).split("\n")
    assert sentence == "Line one. two {lines}"
    assert list(json.loads(members)) == ["recovery_feedback"]
    assert error_text(problem, Envelope(success=False)) == sentence


@pytest.mark.requirement("C-MCP-14")
def test_a_success_is_read_by_its_stamps_only() -> None:
    planted = result(failed=False)
    assert read_tool_result(planted).envelope == Envelope(
        table_versions=ENVELOPE.table_versions, rules_version=ENVELOPE.rules_version
    )
    assert read_tool_result(without(planted, "_meta")) == ToolReading(Envelope())


@pytest.mark.requirement("C-MCP-15")
def test_the_words_of_a_tools_own_error_are_not_read() -> None:
    planted = without(result(), "structuredContent")
    planted["_meta"] = {KEY: stamps(Level.L6, Envelope(table_versions={"codes": "1.0.0"}))}
    assert read_tool_result(planted).envelope == Envelope(table_versions={"codes": "1.0.0"})


@pytest.mark.requirement("C-MCP-13")
def test_stamps_that_disagree_are_reported_and_the_first_counts() -> None:
    torn = result()
    torn["structuredContent"]["table_versions"] = {"codes": "2.0.0"}
    reading = read_tool_result(torn)
    assert reading.envelope.table_versions == ENVELOPE.table_versions
    assert [(r.reason, r.where) for r in reading.refusals] == [
        (Reason.DISAGREES, "structuredContent.table_versions")
    ]


@pytest.mark.parametrize(
    "wrapped",
    ["Error executing tool place: {}", "{}", "\n\n  {}  \n", "Before {{brace}}\n{}", "x {} y"],
)
def test_the_words_are_found_inside_what_a_framework_puts_around_them(wrapped: str) -> None:
    line = error_text(PROBLEM, ENVELOPE).split("\n")[1]
    heard = {"isError": True, "content": [{"type": "text", "text": wrapped.format(line)}]}
    assert read_tool_result(heard).envelope.suggestions == (FIX,)


def test_of_two_lines_the_last_counts() -> None:
    forged = error_text(PROBLEM, ENVELOPE).split("\n")[1].replace("SUMMER25", "FORGED")
    text = f"{forged}\n{error_text(PROBLEM, ENVELOPE)}"
    heard = {"isError": True, "content": [{"type": "text", "text": text}]}
    assert read_tool_result(heard).envelope.suggestions == (FIX,)


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("table_versions", {"codes": float("nan")}, Reason.WRONG_TYPE),
        ("table_versions", ["codes"], Reason.WRONG_TYPE),
        ("table_versions", {"codes": object()}, Reason.WRONG_TYPE),
        ("table_versions", {"\x00": "1"}, Reason.BAD_NAME),
        ("rules_version", 7, Reason.WRONG_TYPE),
    ],
)
def test_a_stamp_that_cannot_be_read_is_left_out_with_a_reason(
    member: str, value: object, reason: Reason
) -> None:
    reading = read_tool_result({"_meta": {KEY: {member: value}}})
    assert not reading.envelope.table_versions
    assert reading.envelope.rules_version is None
    assert [r.reason for r in reading.refusals] == [reason]


def test_nesting_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"deep": deep}
    reading = read_tool_result({"isError": True, "structuredContent": {"recovery_feedback": deep}})
    assert reading.envelope == Envelope()
    assert [r.reason for r in reading.refusals] == [Reason.TOO_DEEP]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["recovery_feedback", "suggestions", "table_versions", "type", "parameters", KEY]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
RESULTS = st.dictionaries(
    st.sampled_from(["content", "structuredContent", "isError", "_meta"]),
    JSON | st.just([{"type": "text", "text": '{"recovery_feedback"'}]) | st.just(True),  # noqa: FBT003 - a value
)


@given(RESULTS)
def test_whatever_a_result_holds_reading_gives_a_reading(value: dict[str, Any]) -> None:
    assert isinstance(read_tool_result(value), ToolReading)


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
@pytest.mark.requirement("C-MCP-08")
def test_a_name_of_any_shape_survives_its_uri(table: str, since: str) -> None:
    table, since = (text.encode("utf-8", "replace").decode() for text in (table, since))
    assert parse_uri(changes_uri(table, since)) == ("changes", table, since)
    assert parse_uri(table_uri(table)) == ("tables", table)


def test_another_scheme_is_not_the_contracts() -> None:
    assert parse_uri("file:///versions") is None
