"""Build both distributions and use them as a stranger would: installed, with no source tree near.

Usage::

    python tools/try_wheel.py

Each distribution is built from its own sdist, so a file that is missing there is missing here. The
library is installed without extras into an empty environment outside the repository, and each thing
that a stranger relies on is tried from an empty folder: the import, the type marker, the licence,
the command, and a clear error where an extra is missing. Then the bench is installed over it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FIRST_STEPS = """
import importlib, json, pathlib, sys
import lapse
rooms = sorted(
    entry.name for entry in pathlib.Path(lapse.__file__).parent.iterdir()
    if (entry / "__init__.py").exists()
)
print(json.dumps({"file": lapse.__file__, "rooms": rooms, "names": len(lapse.__all__)}))
for name in lapse.__all__:
    getattr(lapse, name)
for room in ("ledger", "contract", "wire", "storage", "runtime"):
    importlib.import_module(f"lapse.{room}")
"""


class Failed(Exception):
    """A stranger would have been let down; the message says by what."""


def run(command: Sequence[str | Path], *, cwd: Path) -> str:
    """What a command printed.

    Raises:
        Failed: it did not exit with 0.
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        shown = " ".join(str(part) for part in command)
        raise Failed(f"{shown}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def built(project: Path, into: Path) -> Path:
    """The wheel of a project, built from its sdist.

    Raises:
        Failed: it cannot be built, or not exactly one wheel came out.
    """
    run([sys.executable, "-m", "build", "--outdir", into, project], cwd=into)
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        raise Failed(f"{project} gave {len(wheels)} wheels")
    return wheels[0]


def inspect(wheel: Path, wanted: Sequence[str]) -> None:
    """Look into a wheel.

    Raises:
        Failed: a wanted file is missing, or something of the repository slipped in.
    """
    names = zipfile.ZipFile(wheel).namelist()
    for name in wanted:
        if not any(found == name or found.endswith(f".dist-info/{name}") for found in names):
            raise Failed(f"{wheel.name} lacks {name}")
    for name in names:
        if name.split("/")[0] in {"src", "tests", "tools", "docs"}:
            raise Failed(f"{wheel.name} carries {name}")


def main() -> int:
    """Run the trial; the exit code."""
    with tempfile.TemporaryDirectory(prefix="lapse-wheel-") as folder:
        try:
            trial(Path(folder))
        except Failed as failure:
            sys.stderr.write(f"error: {failure}\n")
            return 1
    return 0


def trial(folder: Path) -> None:
    """Build, install and use both wheels.

    Raises:
        Failed: something that a stranger relies on does not hold.
    """
    outputs = {name: folder / name for name in ("lapse", "bench", "empty")}
    for output in outputs.values():
        output.mkdir()
    library = built(ROOT, outputs["lapse"])
    inspect(library, ["lapse/__init__.py", "lapse/py.typed", "licenses/LICENSE", "licenses/NOTICE"])
    bench = built(ROOT / "bench", outputs["bench"])
    inspect(bench, ["lapse_bench/__init__.py", "lapse_bench/cli.py"])

    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    install = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*install, library], cwd=folder)
    # -I: neither the current folder nor PYTHONPATH can lend a source tree
    seen = json.loads(run([python, "-I", "-W", "error", "-c", FIRST_STEPS], cwd=outputs["empty"]))
    if not Path(seen["file"]).is_relative_to(environment):
        raise Failed(f"lapse was imported from {seen['file']}")
    if "Usage" not in run([environment / "bin" / "lapse", "--help"], cwd=outputs["empty"]):
        raise Failed("lapse --help does not say how to use it")
    print(
        f"{library.name}: {seen['names']} names, rooms {', '.join(seen['rooms'])}; needs no extra"
    )

    run([*install, "--find-links", library.parent, bench], cwd=folder)
    if "Usage" not in run([environment / "bin" / "lapse-bench", "--help"], cwd=outputs["empty"]):
        raise Failed("lapse-bench --help does not say how to use it")
    print(f"{bench.name}: installs over it and answers --help")


if __name__ == "__main__":
    sys.exit(main())
