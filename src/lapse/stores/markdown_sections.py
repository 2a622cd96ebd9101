"""The sections of a Markdown text, without losing a byte of it.

Pure. A section is a heading and the text below it, up to the next heading of any level: what stands
under a deeper heading is a section of its own. Headings are those of CommonMark, with signs or
underlined; what looks like one inside a code fence, a comment, a block of HTML or front matter is
none. Two things are read more simply: an indented underline is text, and a heading with signs
counts inside a list item, too.

A section is named by the titles that lead to it; the second of one name by a number after them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lapse.errors import InvalidValue
from lapse.ledger import decode, encode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

__all__ = ["Document", "Section", "parse"]

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_SIGNS = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
_COMMENT = re.compile(r" {0,3}<!--")
_RAW = re.compile(r" {0,3}<(pre|script|style|textarea)(?:[\s>]|$)", re.IGNORECASE)
_TAG = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup"
    r"|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]"
    r"|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option"
    r"|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|/?>|$)",
    re.IGNORECASE,
)
_ANY_TAG = re.compile(
    r" {0,3}(?:<[a-z][a-z0-9-]*(?:\s[^<>]*)?>|</[a-z][a-z0-9-]*\s*>)\s*$", re.IGNORECASE
)
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|>)")
_MARK = re.compile(r"<!-- lapse:lapsed (\{.*\}) -->$")
_DEEPEST = 6
_REMEDY = "pass text without headings, open fences or comments, and without blank lines around it"


@dataclass(frozen=True, slots=True)
class Section:
    """One section, by the numbers of its lines.

    Attributes:
        name: the titles that lead to it, and a number from 2 on if others have the same.
        level: of its heading, 1 to 6; 0 for what stands before the first heading.
        first: its heading's line; the first line of its text where it has no heading.
        body: the first line below its heading.
        end: the first line that is no longer its own text.
    """

    name: tuple[str | int, ...]
    level: int
    first: int
    body: int
    end: int

    @property
    def external_id(self) -> str:
        """The name as a JSON array."""
        return encode(list(self.name)).decode()

    @property
    def titles(self) -> list[str]:
        """The titles alone."""
        return [title for title in self.name if isinstance(title, str)]


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown text.

    Attributes:
        bom: the byte order mark that stands before it, or nothing.
        lines: each with its end.
        sections: in order.
    """

    bom: str
    lines: tuple[str, ...]
    sections: tuple[Section, ...]

    # -- reading -----------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The text as it was."""
        return self.bom + "".join(self.lines)

    @property
    def newline(self) -> str:
        """How its lines end: as the first one does."""
        return next((_ending(line) for line in self.lines if _ending(line)), "\n")

    def section(self, external_id: str) -> Section | None:
        """The section of this name."""
        return next((one for one in self.sections if one.external_id == external_id), None)

    def text(self, section: Section) -> str:
        """What a section says: no heading, mark or blank lines around, line feeds between lines."""
        start, end = self._said(section)
        return "\n".join(_bare(line) for line in self.lines[start:end])

    def mark(self, section: Section) -> dict[str, str] | None:
        """Who marked a section as lapsed, and why; None where nobody did."""
        found = _MARK.match(self._line(section.body)) if section.body < section.end else None
        try:
            said = decode(found[1].encode()) if found else None
        except InvalidValue:  # a comment of somebody else's that looks like ours
            return None
        members = cast("dict[str, Any]", said) if isinstance(said, dict) else None
        return None if members is None else {name: str(value) for name, value in members.items()}

    def without(self, lapsed: Collection[str]) -> str:
        """The text without these sections; a heading stays while something below it does."""
        stays = [False] * len(self.sections)
        gone: set[int] = set()
        for number in reversed(range(len(self.sections))):
            section = self.sections[number]
            drops, below, touched = section.external_id in lapsed, False, False
            for other in range(number + 1, len(self.sections)):
                if self.sections[other].level <= section.level:
                    break
                below |= stays[other]
                touched |= self.sections[other].external_id in lapsed
            bare = touched and not self.text(section)  # a heading for nothing but what lapsed
            stays[number] = below or not (drops or bare)
            if drops or not stays[number]:
                gone.update(range(section.body, section.end))
            if not stays[number]:
                gone.update(range(section.first, section.body))
        kept = (line for number, line in enumerate(self.lines) if number not in gone)
        return self.bom + "".join(kept)

    # -- writing -----------------------------------------------------------------------------

    def with_text(self, section: Section, text: str) -> Document:
        """The same with another text in a section, and nothing else changed.

        Raises:
            InvalidValue: it is empty, or would not be read back as the text of this section: it
                holds a heading, a fence that stays open, or blank lines around.
        """
        start, end = self._said(section)
        said = [f"{line}{self.newline}" for line in text.split("\n")]
        if start < end == len(self.lines) and not _ending(self.lines[-1]):
            said[-1] = _bare(said[-1])
        changed = self._with(self._whole(start), said, end)
        there = changed.section(section.external_id)
        same = [one.name for one in changed.sections] == [one.name for one in self.sections]
        if not text or there is None or not same or changed.text(there) != text:
            raise InvalidValue("text", text, _REMEDY)
        return changed

    def with_mark(self, section: Section, mark: dict[str, str]) -> Document:
        """The same with a section marked as lapsed, in a comment under its heading."""
        if self.mark(section) is not None:
            document = self.without_mark(section)
            there = document.section(section.external_id)
            return self if there is None else document.with_mark(there, mark)
        shown = json.dumps(mark).replace("-", "\\u002d").replace(">", "\\u003e")
        line, at = f"<!-- lapse:lapsed {shown} -->", section.body
        if not at or _ending(self.lines[at - 1]):  # else the heading ends the file
            line += self.newline
        return self._with(self._whole(at), [line], at)

    def without_mark(self, section: Section) -> Document:
        """The same without the mark: as it was before, to the byte."""
        if self.mark(section) is None:
            return self
        before = list(self.lines[: section.body])
        if before and not _ending(self.lines[section.body]):
            before[-1] = _bare(before[-1])
        return self._with(before, [], section.body + 1)

    def with_section(
        self, titles: Sequence[str], text: str, *, level: int = 0
    ) -> tuple[Document, Section]:
        """The same with a new section, and that.

        Args:
            titles: the titles that are to lead to it; it goes below the last of them that is
                there, and those that are missing become headings.
            text: what it says.
            level: of its heading, if it goes to the end, under whatever stands there last; 0: the
                titles are the whole name.

        Raises:
            InvalidValue: it would not be read back as the text of one section of this name.
        """
        at, depth, missing = len(self.lines), level, list(titles)
        if not level:
            at, depth, missing = self._under(list(titles))
        if depth + len(missing) - 1 > _DEEPEST:
            raise InvalidValue("titles", titles, f"pass a name of at most {_DEEPEST} levels")
        before, newline = self._whole(at), self.newline
        said = [] if not before or not before[-1].strip() else [newline]
        for deeper, title in enumerate(missing):
            said += [f"{'#' * (depth + deeper)} {title}{newline}", newline]
        said += [f"{line}{newline}" for line in text.split("\n")]
        said += [newline] if at < len(self.lines) else []
        changed = self._with(before, said, at)
        new = [s for s in changed.sections if len(before) <= s.first < len(before) + len(said)]
        new = [one for one in new if one.level]
        more = len(changed.sections) - len(self.sections)
        if [one.titles[-1] for one in new] != missing or more != len(missing):
            raise InvalidValue("titles", titles, "pass titles of one line; close open fences first")
        if not text or changed.text(new[-1]) != text:
            raise InvalidValue("text", text, _REMEDY)
        return changed, new[-1]

    # -- inside ------------------------------------------------------------------------------

    def _line(self, number: int) -> str:
        return _bare(self.lines[number])

    def _said(self, section: Section) -> tuple[int, int]:
        """The lines from the first to the last that say something."""
        start, end = section.body + (self.mark(section) is not None), section.end
        while start < end and not self._line(end - 1).strip():
            end -= 1
        while start < end and not self._line(start).strip():
            start += 1
        return start, end

    def _whole(self, end: int) -> list[str]:
        """The lines before one, each ended."""
        before = list(self.lines[:end])
        if before and not _ending(before[-1]):
            before[-1] += self.newline
        return before

    def _with(self, before: Sequence[str], said: Sequence[str], end: int) -> Document:
        return parse(self.bom + "".join((*before, *said, *self.lines[end:])))

    def _under(self, titles: list[str]) -> tuple[int, int, list[str]]:
        """Where a section goes, the level of its first new heading, and the titles that are new."""
        for depth in range(len(titles) - 1, 0, -1):
            for number, one in enumerate(self.sections):
                if one.name == tuple(titles[:depth]):
                    below = self.sections[number + 1 :]
                    at = next((s.first for s in below if s.level <= one.level), len(self.lines))
                    return at, one.level + 1, titles[depth:]
        return len(self.lines), 1, titles


def parse(source: str) -> Document:
    """Read a Markdown text.

    Args:
        source: the text as it is, with its line ends; a byte order mark may stand before it.
    """
    bom = source[: source.startswith("\ufeff")]
    lines = tuple(_LINES.findall(source[len(bom) :]))
    return Document(bom, lines, tuple(_sections(lines)))


def _sections(lines: tuple[str, ...]) -> Iterator[Section]:
    start = _front_matter(lines)
    headings = list(_headings(lines, start))
    seen: Counter[tuple[str, ...]] = Counter()
    above: list[tuple[int, str]] = []
    ends = [heading[0] for heading in headings[1:]] + [len(lines)]
    first = headings[0][0] if headings else len(lines)
    if any(line.strip() for line in lines[start:first]):
        yield Section((), 0, start, start, first)
    for (top, body, level, title), end in zip(headings, ends, strict=False):
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, title))
        titles = tuple(title for _, title in above)
        seen[titles] += 1
        number = (seen[titles],) if seen[titles] > 1 else ()
        yield Section((*titles, *number), level, top, body, end)


def _headings(lines: tuple[str, ...], start: int) -> Iterator[tuple[int, int, int, str]]:
    """First line, first line below, level and title of each heading."""
    paragraph, plain = 0, False  # how many lines the paragraph has; whether it is in no list
    number = start
    while number < len(lines):
        line = _bare(lines[number])
        after = _block(lines, number, line, free=not paragraph)
        signs, under = _SIGNS.match(line), _UNDERLINE.match(line)
        if after:
            paragraph, number = 0, after
            continue
        if signs:
            yield number, number + 1, len(signs[1]), _title(line[signs.end() :])
            paragraph = 0
        elif under and paragraph and plain:
            top = number - paragraph
            title = " ".join(_bare(one).strip() for one in lines[top:number])
            yield top, number + 1, 1 if under[1][0] == "=" else 2, title
            paragraph = 0
        elif (
            not line.strip()
            or _RULE.match(line)
            or (not paragraph and line.startswith(("    ", "\t")))
        ):
            paragraph = 0  # a blank line, a rule across the page, or code
        elif _NO_PARAGRAPH.match(line):
            paragraph, plain = 1, False
        else:
            plain = plain if paragraph else not line[0].isspace()
            paragraph += 1
        number += 1


def _title(rest: str) -> str:
    """What stands after the signs of a heading, without the signs that may close it."""
    title = rest.strip()
    closed = title.rstrip("#")
    return closed.rstrip() if not closed or closed[-1] in " \t" else title


def _block(lines: tuple[str, ...], number: int, line: str, *, free: bool) -> int:
    """The line after a block in which nothing is a heading, if one begins here; else 0.

    Args:
        lines: all.
        number: of the line it may begin with.
        line: that line.
        free: no paragraph goes on here, which an unknown tag could not break into.
    """
    fence, raw = _FENCE.match(line), _RAW.match(line)
    if fence:
        ticks = fence[1] or fence[2]
        closing = re.compile(rf" {{0,3}}{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*$")
        number += 1
        while number < len(lines) and not closing.match(_bare(lines[number])):
            number += 1
        return number + 1
    if raw:
        return _until(lines, number, f"</{raw[1].lower()}>")
    if _COMMENT.match(line):
        return _until(lines, number, "-->")
    if _TAG.match(line) or (free and _ANY_TAG.match(line)):
        while number < len(lines) and lines[number].strip():
            number += 1
        return number
    return 0


def _until(lines: tuple[str, ...], number: int, end: str) -> int:
    while number < len(lines) and end not in lines[number].lower():
        number += 1
    return number + 1


def _front_matter(lines: tuple[str, ...]) -> int:
    """The line after the front matter; 0 where there is none."""
    if not lines or _bare(lines[0]).rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 1):
        if _bare(line).rstrip() in ("---", "..."):
            return number + 1
    return 0


def _ending(line: str) -> str:
    return line[len(_bare(line)) :]


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
