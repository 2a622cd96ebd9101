"""Every Python example in the documentation runs.

The convention (docs/testing.md states it for authors): the ```python blocks of a page run in order,
in one namespace, in an empty folder, with warnings as errors. A block that cannot run carries
`<!-- not run: reason -->` on the line above. Other fences that colour as Python are refused, so
that no example escapes by its label.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
NOT_RUN = re.compile(r" *<!-- not run: (?P<reason>\S.*?) *-->$")
DISGUISES = {"py", "py3", "pycon", "python-repl", "python3"}

# Runs a page as the main module, so that examples can define models; it may await at top level.
RUNNER = """
import ast, asyncio, inspect, pathlib, sys
page, source = sys.argv[1:]
text = pathlib.Path(source).read_text(encoding="utf-8")
code = compile(text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
sys.argv = [page]
result = eval(code, vars(sys.modules["__main__"]))
if inspect.iscoroutine(result):
    asyncio.run(result)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: where its code starts, its language, its lines, and why it is not run."""

    line: int
    language: str
    code: tuple[str, ...]
    reason: str | None


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, in order."""
    lines = page.splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.fullmatch(lines[number])
        above = NOT_RUN.fullmatch(lines[number - 1]) if number else None
        number += 1
        if not opening:
            continue
        start = number
        closing = re.compile(rf" *{opening['ticks'][0]}{{{len(opening['ticks'])},}} *")
        while number < len(lines) and not closing.fullmatch(lines[number]):
            number += 1
        language, *_ = [*opening["info"].split(), ""]
        indent = len(opening["indent"])
        code = tuple(
            line[indent:] if line[:indent].isspace() else line for line in lines[start:number]
        )
        yield Block(start + 1, language.strip("{}."), code, above["reason"] if above else None)
        number += 1


def program(page: str) -> str:
    """The runnable blocks of a page as one source text, each line where it stands in the page."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python" and block.reason is None:
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.code
    return "\n".join(lines) + "\n"


def run(page: Path, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the examples of a page in an empty folder that is also the home folder."""
    source = folder / "page.py"
    source.write_text(program(text), encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER, str(page), str(source)],
        cwd=home,
        env={
            **os.environ,
            "HOME": str(home),
            "XDG_DATA_HOME": str(home),
            "XDG_STATE_HOME": str(home),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def name(page: Path) -> str:
    """A page by its path from the root."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if not program(text).strip():
        return
    done = run(page, text, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_example_escapes_by_its_label() -> None:
    assert [
        f"{name(page)}:{block.line}: write ```python, not ```{block.language}"
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language in DISGUISES
    ] == []


def test_the_pages_are_found() -> None:
    assert "docs/index.md" in map(name, PAGES)


PAGE = """
Text.

```python
first = 1
```

<!-- not run: it needs a second machine -->
```python
raise SystemExit("ran anyway")
```

* in a list:

    ```python
    import asyncio
    await asyncio.sleep(0)
    second = first + 1
    ```

````markdown
```python
raise SystemExit("an example of an example ran")
```
````

```python
assert second == 2
assert False, "reached the end"
```
"""


def test_a_page_is_one_program_and_a_failure_names_its_line(tmp_path: Path) -> None:
    done = run(Path("page.md"), PAGE, tmp_path)
    assert "reached the end" in done.stderr
    assert 'File "page.md", line 29' in done.stderr


def test_a_reason_must_be_given() -> None:
    assert [block.reason for block in blocks("<!-- not run: -->\n```python\n```")] == [None]
