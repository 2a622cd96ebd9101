"""The report for people: an index, and a page for each table and figure of the source text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse_bench.report.marking import Report, cells_of, table, text
from lapse_bench.report.open_pages import coverage, rotations, vectors, wordings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["pages"]

_PLACES: Final[Mapping[str, str]] = {
    "Table 2": "Which arm consumes what",
    "Table 3": "The ladder on the drifted stream",
    "Table 4": "First-try rate by class",
    "Table 5": "Detection policies on the rule stream",
    "Table 6": "Tokens and retries",
    "Table 7": "First-try rate by the shape of the hint",
    "Figure 3": "The governed class, by arm",
    "Figure 4": "The funding class after the bump, by arm",
    "Figure 5": "Rotations in one budget of episodes",
    "Figure 6": "Payments against recipes",
}

_EXTRA: Final[Mapping[str, Callable[[Report], list[str]]]] = {
    "Table 2": coverage,
    "Figure 5": rotations,
}
"""What a page has beyond its cells."""

_OPEN: Final[Mapping[str, str]] = {
    "vectors.md": "Dependency vectors apart from the graph",
    "figure-5.md": "More than three rotations",
    "wordings.md": "Level 2 against Level 3, and other prompts",
}

_BASES: Final[Mapping[str, str]] = {
    "policy": "no model is involved",
    "stream": "classes that the source text found the same for every model (section 3.6)",
    "bound": "what somebody who follows every fix gets; `equal`: the printed model got it, too",
    "model": "a measurement of a model, or of what a vendor billed",
}

_HEAD: Final = """\
# Invalidation contracts: the printed numbers beside ours

Printed numbers are measurements of the models named. Ours are of two scripted planners that follow
every fix, one believing the oldest of several entries and one the newest: they measure no model. A
model's cell is `equal` where both give the printed number, so that arm and stream determine it for
whoever follows every fix.
"""

_WITHIN: Final = """
## What lies within an interval

The printed rates are means of three seeds; no standard deviation over seeds is larger than 18.1
points (caption of Table 3)."""


def pages(result: Report) -> dict[str, str]:
    """Every page by its file name; they link to each other, and to `figures/`."""
    found = {"index.md": _index(result)}
    for place, title in _PLACES.items():
        extra = _EXTRA.get(place)
        found[_file(place)] = text(
            [
                f"# {place}: {title}",
                "",
                "[All pages](index.md)",
                *_picture(place),
                *cells_of(result, place),
                *(extra(result) if extra else ()),
            ]
        )
    return {**found, "vectors.md": vectors(result), "wordings.md": wordings(result)}


def _file(place: str) -> str:
    return f"{place.lower().replace(' ', '-')}.md"


def _picture(place: str) -> tuple[str, ...]:
    if not place.startswith("Figure"):
        return ()
    name = _file(place).removesuffix(".md")
    return ("", f"![{place}](figures/{name}.svg)")


def _index(result: Report) -> str:
    verdicts = list(result["verdicts"])
    by_basis = [
        (f"`{basis}`", _BASES[basis], *found.values())
        for basis, found in result["verdicts_by_basis"].items()
    ]
    return text(
        [
            _HEAD,
            *(f"* {verdict}: {count}" for verdict, count in result["verdicts"].items()),
            *table(["where", "what", *verdicts], _by_place(result, verdicts)),
            "",
            "## What the verdicts rest on",
            *table(["basis", "what it is", *verdicts], by_basis),
            "",
            "## What is different, and why",
            *_reasons(result, "different"),
            _WITHIN,
            *_reasons(result, "within interval"),
            "",
            "## What the source text left open",
            "",
            *(f"* [{title}]({name})" for name, title in _OPEN.items()),
            "",
            "## Where this comes from",
            "",
            *_origin(result),
        ]
    )


def _by_place(result: Report, verdicts: Sequence[str]) -> list[Sequence[object]]:
    named = {place: (f"[{place}]({_file(place)})", title) for place, title in _PLACES.items()}
    named["Section 3.5"] = ("[Section 3.5](wordings.md)", "What Level 2 is worth")
    found = [(cell["place"], cell["verdict"]) for cell in result["cells"]]
    return [
        (*told, *(found.count((place, verdict)) for verdict in verdicts))
        for place, told in named.items()
    ]


def _reasons(result: Report, verdict: str) -> list[str]:
    rows = [
        (cell["place"], cell["row"], cell["column"], cell["printed"], _ours(cell), cell["why"])
        for cell in result["cells"]
        if cell["verdict"] == verdict
    ]
    if not rows:
        return ["", "Nothing."]
    return table(["where", "row", "column", "printed", "ours", "why"], rows)


def _ours(cell: Report) -> str:
    return " or ".join(dict.fromkeys(map(str, cell["ours"].values())))


def _origin(result: Report) -> list[str]:
    machine, config = result["machine"], result["config"]
    return [
        f"* commit `{result['commit']}`, {result['date']}",
        f"* {machine['system']}, {machine['cores']} cores, Python {machine['python']}",
        f"* {config['runs']} runs over HTTP on loopback; model asked: {config['model'] or 'none'}",
        "* everything, as [JSON](contract.json)",
    ]
