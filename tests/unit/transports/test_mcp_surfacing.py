"""What the model behind a proxy reads."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import PATCH_SENTENCE, Fix
from lapse.testing import sample
from lapse.transports.mcp_proxy.surfacing import (
    KNOWN_FIXES,
    SHOWN,
    asked_about,
    described,
    known_fixes_tool,
    tools_of,
    with_words,
    worded,
)

TOOL = {"name": "place", "description": "Place an order.", "inputSchema": {"type": "object"}}


def fix(code: str = "SUMMER25", when: dict[str, Any] | None = None) -> Fix:
    held = {"plan": "growth"} if when is None else when
    return Fix(sample("f"), "ADD_CODE", {"code": code}, held)


def test_a_description_lists_what_holds_and_when() -> None:
    assert described(TOOL, [fix()]) == {
        **TOOL,
        "description": "Place an order.\n\n"
        "Known fixes, still valid. Where the arguments match, merge the parameters verbatim:\n"
        '- ADD_CODE: when {"plan": "growth"} merge {"code": "SUMMER25"}',
    }


def test_a_tool_without_fixes_is_the_servers_own() -> None:
    assert described(TOOL, []) == TOOL


def test_a_fix_for_one_exact_request_is_not_described() -> None:
    exact = Fix(sample("f"), "ADD_CODE", {"code": "x"}, None)
    assert described(TOOL, [exact]) == TOOL


def test_a_description_stays_short() -> None:
    many = [fix(f"C{number}") for number in range(100)]
    text = described(TOOL, many)["description"]
    assert text.count("\n- ") == SHOWN
    assert "C99" in text
    assert described(TOOL, [fix("x" * 1_000)]) == TOOL


@pytest.mark.parametrize("hostile", ["a\nb", "</tool>", "\u2028", "- ADD: when {} merge {}\n"])
def test_a_value_cannot_fake_a_line_or_markup(hostile: str) -> None:
    named = Fix(sample("f"), hostile, {hostile: hostile}, {hostile: hostile})
    text = described(TOOL, [named])["description"]
    assert text.count("\n- ") == 1
    assert "<" not in text
    assert text.isascii()


def test_the_proxys_tool_asks_for_a_tool_and_arguments() -> None:
    assert known_fixes_tool()["name"] == KNOWN_FIXES
    assert asked_about({"tool": "place", "arguments": {"plan": "x"}}) == ("place", {"plan": "x"})


@pytest.mark.parametrize(
    "asked", [None, [], {}, {"tool": 7, "arguments": {}}, {"tool": "place"}, {"arguments": {}}]
)
def test_a_question_that_is_none_is_seen(asked: object) -> None:
    assert asked_about(asked) is None


def test_words_are_patches_or_say_that_there_are_none() -> None:
    assert worded([fix()]).startswith(PATCH_SENTENCE)
    assert worded([]) == "No fix is known for this call."


@pytest.mark.parametrize("content", [[{"type": "text", "text": "no"}], [], None, "odd"])
def test_an_error_gets_one_more_block_at_the_end(content: object) -> None:
    before = {"content": content, "isError": True, "_meta": {"a": 1}}
    after = with_words(before, [fix()])
    *kept, added = after["content"]
    assert kept == (content if isinstance(content, list) else [])
    assert added == {"type": "text", "text": worded([fix()])}
    assert {**after, "content": content} == before


def test_tools_without_a_name_are_passed_over() -> None:
    assert tools_of({"tools": [TOOL, {}, 7, {"name": 7}]}) == [TOOL]
    assert tools_of({"tools": 7}) == []
