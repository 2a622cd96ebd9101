"""Where the traces are: the full histories beside a checkout, the thinned copies in the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from lapse.errors import InvalidValue

__all__ = ["SHIPPED", "Found", "find"]

SHIPPED: Final = ("twilio", "adyen", "endoflife")
"""The traces that a user can name; thinned copies of them are in the package."""

_BESIDE: Final = Path("..", "shared", "data", "organic")
"""Where the full histories lie, seen from the root of a checkout."""


@dataclass(frozen=True, slots=True)
class Found:
    """A trace and where it is.

    Attributes:
        name: what the trace is called.
        path: the file.
        thinned: whether it is the copy in the package that keeps only some tables.
    """

    name: str
    path: Path
    thinned: bool


def find(trace: str, *, start: Path, full: bool = True) -> Found:
    """The file behind a trace's name, or behind a path.

    Args:
        trace: `twilio`, `adyen`, `endoflife`, or the path of a file of the same form.
        start: a folder of the checkout, if there is one; the full histories are looked for beside
            the checkout's root.
        full: whether to take the full history where it is present.

    Raises:
        InvalidValue: it is neither.
    """
    if trace not in SHIPPED:
        path = Path(trace)
        if not path.is_file():
            raise InvalidValue(
                "trace", trace, f"name one of {', '.join(SHIPPED)}, or the path of a trace file"
            )
        return Found(path.name.split(".")[0], path, thinned=False)
    for root in (start, *start.parents) if full else ():
        beside = root / _BESIDE / f"{trace}.jsonl.gz"
        if (root / "bench" / "pyproject.toml").is_file() and beside.is_file():
            return Found(trace, beside.resolve(), thinned=False)
    return Found(
        trace, Path(str(files("lapse_bench.traces") / "data" / f"{trace}.jsonl.gz")), thinned=True
    )
