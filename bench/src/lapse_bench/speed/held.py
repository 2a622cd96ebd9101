"""How much memory a remembered fix takes beyond its content; run as a program of its own.

The resident size of the process is read before, after the contents alone, and after the whole
state; each phase runs in a process that has done nothing else.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from os import sysconf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.speed.memories import filled
from lapse_bench.speed.records import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GOAL_BYTES", "held_per_record"]

GOAL_BYTES: Final = 1024


def held_per_record(records: int) -> dict[str, Any]:
    """Bytes a record, whole and beyond its content."""
    if not Path("/proc/self/statm").exists():
        return {
            "records": records,
            "bytes_beyond_content": None,
            "how": "not measured: this system has no /proc",
        }
    whole, content = (_in_a_process_of_its_own(what, records) for what in ("state", "content"))
    beyond = (whole - content) / records
    return {
        "records": records,
        "bytes_whole": round(whole / records),
        "bytes_content": round(content / records),
        "bytes_beyond_content": round(beyond),
        "goal": GOAL_BYTES,
        "goal_is": "less than",
        "met": beyond < GOAL_BYTES,
        "how": "growth of the resident size of a fresh process that builds the state of so many "
        "fixes (two stamps, one "
        "receipt, every index) from their stored texts, less that of one that builds their "
        "contents alone",
    }


def _in_a_process_of_its_own(what: str, records: int) -> int:
    command = [sys.executable, "-m", "lapse_bench.speed.held", what, str(records)]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)  # noqa: S603


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * sysconf(
        "SC_PAGE_SIZE"
    )


def _grown(build: Callable[[], object]) -> int:
    gc.collect()
    gc.disable()
    before = _resident()
    held = build()
    gc.collect()
    grown = _resident() - before
    del held
    return grown


def _main(what: str, records: int) -> None:
    build: dict[str, Callable[[], object]] = {
        "state": lambda: filled(records),
        "content": lambda: [json.loads(body)["content"] for body in bodies(records)],
    }
    sys.stdout.write(str(_grown(build[what])))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
