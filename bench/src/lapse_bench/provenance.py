"""What a result has to say about where it comes from, so that it can be had again."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from shutil import which
from typing import Any

__all__ = ["Provenance", "gathered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a result comes from.

    Attributes:
        date: when the run began, ISO 8601; given by the command line.
        commit: the checkout's commit, with `+` when files differ from it; None outside a checkout.
        machine: processor, cores, system, interpreter, and versions of what was measured.
    """

    date: str
    commit: str | None
    machine: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The members that every result carries."""
        return {"date": self.date, "commit": self.commit, "machine": self.machine}


def gathered(*, date: str) -> Provenance:
    """Look at the machine and the checkout."""
    machine = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": cpu_count(),
        "python": platform.python_version(),
        "lapse": version("lapse"),
        "lapse_bench": version("lapse-bench"),
    }
    return Provenance(date=date, commit=_commit(), machine=machine)


def _commit() -> str | None:
    here = Path(__file__).parent
    git = which("git")
    if git is None or not any((folder / ".git").exists() for folder in here.parents):
        return None

    def ask(*arguments: str) -> str:
        asked = subprocess.run(  # noqa: S603 - fixed arguments
            [git, "-C", here, *arguments], capture_output=True, check=False, text=True
        )
        return asked.stdout.strip()

    commit = ask("rev-parse", "HEAD")
    return (
        f"{commit}+"
        if commit and ask("status", "--porcelain", "--untracked-files=no")
        else commit or None
    )
