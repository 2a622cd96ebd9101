"""The specification and the tests name each other.

A clause of docs/contract/ starts a line with its id in bold: `**C-ENV-01** The envelope ...`. A
test that proves it carries `@pytest.mark.requirement("C-ENV-01")`. Every clause has a test, every
id in a test is a clause, and no id is defined twice.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = re.compile(r"^(?:[-*] )?\*\*(C-[A-Z]+-\d{2,})\*\*", re.MULTILINE)


def defined(text: str) -> list[str]:
    """The clause ids that a page defines, in order."""
    return DEFINITION.findall(text)


def marked(tree: ast.Module) -> Iterator[str]:
    """The clause ids that the tests of a module name.

    Raises:
        TypeError: a mark does not spell its id; then nobody can find the test by searching for it.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="requirement")):
                for argument in node.args:
                    match argument:
                        case ast.Constant(value=str(clause)):
                            yield clause
                        case _:
                            message = f"line {node.lineno}: spell the clause id out"
                            raise TypeError(message)
            case _:
                pass


CLAUSES = [
    clause
    for page in sorted(ROOT.glob("docs/contract/**/*.md"))
    for clause in defined(page.read_text(encoding="utf-8"))
]
TESTED = {
    clause
    for path in sorted(ROOT.glob("tests/**/*.py"))
    for clause in marked(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))
}


def test_every_clause_has_a_test() -> None:
    assert sorted(set(CLAUSES) - TESTED) == []


def test_every_id_in_a_test_is_a_clause() -> None:
    assert sorted(TESTED - set(CLAUSES)) == []


def test_no_clause_is_defined_twice() -> None:
    assert [clause for clause, count in Counter(CLAUSES).items() if count > 1] == []


def test_a_definition_is_a_bold_id_at_the_start_of_a_line() -> None:
    page = "**C-ENV-01** Must.\n- **C-ENV-02** Must.\nSee **C-ENV-03** and C-ENV-04.\n"
    assert defined(page) == ["C-ENV-01", "C-ENV-02"]


def test_a_mark_is_seen_on_a_function_a_class_and_a_module() -> None:
    source = """
pytestmark = [pytest.mark.requirement("C-A-01", "C-A-02")]
@pytest.mark.requirement("C-A-03")
class TestA:
    @pytest.mark.requirement("C-A-04")
    async def test_b(self): ...
"""
    assert sorted(marked(ast.parse(source))) == ["C-A-01", "C-A-02", "C-A-03", "C-A-04"]


def test_a_mark_must_spell_its_id() -> None:
    with pytest.raises(TypeError, match="spell the clause id out"):
        list(marked(ast.parse("pytest.mark.requirement(CLAUSE)")))
