"""Writes the JSON Schemas of the contract's messages into the documentation."""

from __future__ import annotations

import json
from pathlib import Path

from lapse.wire import schemas

TARGET = Path(__file__).resolve().parents[1] / "docs" / "contract" / "schemas"


def main() -> None:
    """Write one file per message, and take away files of messages that are gone."""
    TARGET.mkdir(parents=True, exist_ok=True)
    written = schemas()
    for path in TARGET.glob("*.json"):
        if path.stem not in written:
            path.unlink()
    for name, schema in written.items():
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        (TARGET / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
        print(f"docs/contract/schemas/{name}.json")


if __name__ == "__main__":
    main()
