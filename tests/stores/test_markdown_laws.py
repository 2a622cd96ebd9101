"""Laws of sections: nothing is lost, a change changes one, a mark leaves no trace when it is taken.

Where headings are is compared with another parser of CommonMark.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lapse.errors import InvalidValue
from lapse.stores.markdown_sections import Document, Section, parse

LINES = st.sampled_from(
    [
        "",
        "",
        "words",
        "more words",
        "# Top",
        "## Below",
        "### Deep ##",
        "  # Moved in",
        "#no heading",
        "####### seven",
        "## ",
        "===",
        "---",
        "```",
        "```sh",
        "~~~~",
        "~~~",
        "    # code",
        "\t# code",
        "- item",
        "1. one",
        "> quoted",
        "<!-- comment -->",
        "<!-- open",
        "-->",
        "<pre>",
        "</pre>",
        "<details>",
        "<custom>",
        "* * *",
        "trailing  ",
    ]
)
NEWLINES = st.sampled_from(["\n", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = draw(st.lists(LINES, max_size=14))
    newline = draw(NEWLINES)
    last = draw(st.sampled_from(["", newline]))
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    matter = draw(st.sampled_from(["", "", f"---{newline}a: 1{newline}---{newline}"]))
    return bom + matter + newline.join(lines) + (last if lines else "")


def texts(document: Document) -> list[tuple[str, str]]:
    return [(one.external_id, document.text(one)) for one in document.sections]


@given(st.text() | documents())
def test_no_byte_is_lost(source: str) -> None:
    assert parse(source).source == source


@given(documents())
def test_sections_follow_each_other_and_have_names_of_their_own(source: str) -> None:
    document = parse(source)
    for before, after in zip(document.sections, document.sections[1:], strict=False):
        assert before.first <= before.body <= before.end == after.first
    names = [one.external_id for one in document.sections]
    assert len(set(names)) == len(names)
    if document.sections:
        assert document.sections[-1].end == len(document.lines)


@given(documents(), st.data())
def test_a_mark_leaves_no_trace(source: str, data: st.DataObject) -> None:
    document = parse(source)
    assume(document.sections)
    section: Section = data.draw(st.sampled_from(document.sections))
    reason = data.draw(st.sampled_from(["over", "--> # not a heading", 'a "quote"\n# line']))
    marked = document.with_mark(section, {"by": "ana", "reason": reason})
    assert texts(marked) == texts(document)
    there = marked.section(section.external_id)
    assert there is not None
    assert marked.mark(there) == {"by": "ana", "reason": reason}
    assert marked.with_mark(there, {"by": "bo", "reason": reason}).without_mark(there) == document
    assert marked.without_mark(there).source == source


@given(documents(), st.data())
def test_a_text_changes_one_section(source: str, data: st.DataObject) -> None:
    document = parse(source)
    assume(document.sections)
    section: Section = data.draw(st.sampled_from(document.sections))
    said = document.text(section)
    text = data.draw(st.sampled_from(["one line", "two\nlines", "- a\n- b", "```\n# code\n```"]))
    try:
        changed = document.with_text(section, text)
    except InvalidValue:  # an open fence of its own, which the text would end up in
        return
    expected = [(n, text if n == section.external_id else t) for n, t in texts(document)]
    assert texts(changed) == expected
    there = changed.section(section.external_id)
    assert there is not None
    if said and changed.newline == document.newline:  # a file of one line may have lost it
        assert changed.with_text(there, said).source == source


@given(documents(), st.lists(st.sampled_from(["A", "B", "Top"]), min_size=1, max_size=3))
def test_a_new_section_is_named_as_it_was_asked_to_be(source: str, titles: list[str]) -> None:
    document = parse(source)
    try:
        changed, section = document.with_section(titles, "said")
    except InvalidValue:  # everything up to the end is in a fence, or too deep
        return
    assert changed.text(section) == "said"
    assert section.titles[-1] == titles[-1]
    kept = [text for name, text in texts(changed) if name != section.external_id]
    assert [t for t in kept if t] == [t for _, t in texts(document) if t]


@given(documents(), st.data())
def test_what_lapsed_is_not_there_and_the_rest_is(source: str, data: st.DataObject) -> None:
    document = parse(source)
    saying = [(name, text) for name, text in texts(document) if text]
    gone = data.draw(st.sets(st.sampled_from([n for n, _ in saying]))) if saying else set[str]()
    assert document.without(set()) == source
    served = parse(document.without(gone))
    # Names are compared without their numbers: the second of a name may have become the first.
    kept = [text for name, text in saying if name not in gone]
    assert [text for _, text in texts(served) if text] == kept


@settings(max_examples=200, deadline=None)
@example(["* * *", "words", "==="])
@given(st.lists(LINES, max_size=10))
def test_headings_are_where_another_parser_finds_them(lines: list[str]) -> None:
    source = "\n".join(lines)
    tokens = MarkdownIt("commonmark").parse(source)
    # Both differ inside lists and quotations, which belong to the section they stand in.
    assume(not any(t.type in ("list_item_open", "blockquote_open") for t in tokens))
    expected = [
        (token.map[0], int(token.tag[1:]))
        for token in tokens
        if token.type == "heading_open" and token.map and token.level == 0
    ]
    assume(lines[:1] != ["---"])
    found = [(one.first, one.level) for one in parse(source).sections if one.level]
    assert found == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# A\n\n## B\nb\n## B\nc\n# A\nd\n", ['["A"]', '["A","B"]', '["A","B",2]', '["A",2]']),
        ("intro\n\nTitle\n=====\ntext\n\nSub\n---\nmore", ["[]", '["Title"]', '["Title","Sub"]']),
        ("### deep\n# top\n", ['["deep"]', '["top"]']),
        ("---\n# yaml comment\n---\n# A\n", ['["A"]']),
        ("---\n# A\n", ["[]", '["A"]']),
        ("# A\n```sh\n# comment\n```\n<!--\n# not\n-->\n## B #\n", ['["A"]', '["A","B"]']),
        ("# A\r# B\r\n# C", ['["A"]', '["B"]', '["C"]']),
        ("", []),
        ("\n\n", []),
    ],
)
def test_names(source: str, expected: list[str]) -> None:
    assert [one.external_id for one in parse(source).sections] == expected


def test_a_long_line_of_blanks_is_read_in_no_time() -> None:
    """A line that took quadratic time would not let this end."""
    source = "# " + " \t" * 200_000 + "x" + " #" * 200_000 + "\n" + "- " * 100_000
    assert len(parse(source).sections) == 1
