"""The data sets that ship with lapse-bench, and reading of files of their form.

A shipped file is checked against its digest before it is read: a benchmark over changed data is
another benchmark. A file that a user names is read as it is.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

from lapse.errors import InvalidValue

__all__ = ["DIGESTS", "digest_of", "packed", "rows_of", "shipped"]

DIGESTS: Final = {
    "manbench": "1b4cc497766d230eb1174e46afc240ea2f0beba179331e41df9870f7b575a466",
    "stackage": "a75cc94d8667f64ad2abcb449c1d2d03442740cf35da40c0b8e84e0dced62ea1",
    "memora": "886eeccf39ca229cecdcec03aafb11bb9c89a4a760c7daf8d13fc3cef07ff219",
}
"""SHA-256 of the files as they ship."""


def shipped(name: str, *, folder: Path | None = None) -> Path:
    """Where a shipped file is.

    Args:
        name: `memora`, `manbench` or `stackage`.
        folder: where to look instead of in the package.

    Raises:
        InvalidValue: the file is not the one that shipped.
    """
    if folder is None:
        folder = Path(str(files("lapse_bench.returns") / "data"))
    path = folder / f"{name}.jsonl.gz"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != DIGESTS[name]:
        raise InvalidValue(
            f"{name}, SHA-256", found, f"install lapse-bench again; expected {DIGESTS[name]}"
        )
    return path


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hex, whatever its size.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one JSON object a line, gzip or plain.

    Raises:
        InvalidValue: the file cannot be read, or a line is no JSON object; it says which.
    """
    try:
        body = path.read_bytes()
        text = (gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as failure:
        raise InvalidValue(
            "data", str(path), f"give a readable UTF-8 file, gzip or plain ({failure})"
        ) from None
    rows: list[dict[str, Any]] = []
    # Not splitlines: texts may hold other marks that it takes for the end of a line.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise InvalidValue(
                f"{path.name}, line {number}", line[:40], "write one JSON object a line"
            )
        rows.append(cast("dict[str, Any]", row))
    return rows


def packed(rows: list[dict[str, Any]]) -> bytes:
    """The rows as a gzip file, the same bytes on every machine and day."""
    text = "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)
