"""The report on admission for people: an index, and a page for each table and figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse_bench.report.admission_places import TITLES
from lapse_bench.report.marking import Report, cells_of, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["admission_pages"]

_BASES: Final[Mapping[str, str]] = {
    "construction": "which candidate a baseline admits on ManBench-Return follows from its rule",
    "arithmetic": "computed again from other printed cells; it says nothing about a model",
    "setting": "how the source sets its benchmarks up",
    "case": "the travel case, as the source tells it",
    "model": "a measurement of a model, or of what a model made of a view",
}

_HEAD: Final = """\
# TRACE: the printed numbers beside ours

Printed numbers are the source's (arXiv 2609.33517). What a model measured is marked `needs a
model`; what stands beside it is of views alone, over data that ship here, and reproduces no such
cell. A stand-in for a verifier knows the answers and errs by a coin: it measures what admission
makes of a verifier, and no model.
"""


def admission_pages(result: Report) -> dict[str, str]:
    """Every page by its file name; they link to each other, and to `figures/`."""
    found = {"index.md": _index(result)}
    for place, title in TITLES.items():
        found[_file(place)] = text(
            [
                f"# {place}: {title}",
                "",
                "[All pages](index.md)",
                *_picture(place),
                *cells_of(result, place),
            ]
        )
    return found


def _file(place: str) -> str:
    return f"{place.lower().replace(' ', '-').replace('.', '-')}.md"


def _picture(place: str) -> tuple[str, ...]:
    if not place.startswith("Figure"):
        return ()
    return ("", f"![{place}](figures/{_file(place).removesuffix('.md')}.svg)")


def _index(result: Report) -> str:
    verdicts = list(result["verdicts"])
    by_basis = [
        (f"`{basis}`", _BASES[basis], *found.values())
        for basis, found in result["verdicts_by_basis"].items()
    ]
    places = [(cell["place"], cell["verdict"]) for cell in result["cells"]]
    rows = [
        (
            f"[{place}]({_file(place)})",
            title,
            *(places.count((place, verdict)) for verdict in verdicts),
        )
        for place, title in TITLES.items()
    ]
    return text(
        [
            _HEAD,
            *(f"* {verdict}: {count}" for verdict, count in result["verdicts"].items()),
            *table(["where", "what", *verdicts], rows),
            "",
            "## What the verdicts rest on",
            *table(["basis", "what it is", *verdicts], by_basis),
            "",
            "## What is different, and why",
            *_different(result),
            "",
            "## Where this comes from",
            "",
            *_origin(result),
        ]
    )


def _different(result: Report) -> list[str]:
    """One line for what differs for one reason in one place."""
    found: dict[tuple[str, str], list[Report]] = {}
    for cell in result["cells"]:
        if cell["verdict"] == "different":
            found.setdefault((cell["place"], cell["why"]), []).append(cell)
    rows = [(place, len(cells), _example(cells), why) for (place, why), cells in found.items()]
    return table(["where", "cells", "for example", "why"], rows) if rows else ["", "Nothing."]


def _example(cells: Sequence[Report]) -> str:
    cell = cells[0]
    ours = " or ".join(dict.fromkeys(map(str, cell["ours"].values())))
    return f"{cell['row']}, {cell['column']}: printed {cell['printed']}, ours {ours}"


def _origin(result: Report) -> list[str]:
    machine = result["machine"]
    return [
        f"* commit `{result['commit']}`, {result['date']}",
        f"* {machine['system']}, {machine['cores']} cores, Python {machine['python']}",
        *(f"* {name}: {value}" for name, value in result["config"].items()),
        "* everything, as [JSON](admission.json)",
    ]
