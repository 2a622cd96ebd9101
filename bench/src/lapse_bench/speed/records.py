"""Many remembered fixes, as a process holds them that has read them from its store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lapse.ledger import Record, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ISSUER", "PER_ROW", "TABLES", "bodies", "many", "record_id", "row", "slot"]

ISSUER: Final = "https://api.example"
PER_ROW: Final = 10
"""Records that rest on one row."""
TABLES: Final = 50

_RULES: Final = "ec524f499ebe"


def record_id(index: int) -> str:
    """As long as a real id."""
    return f"{index:032x}"


def slot(index: int) -> str:
    """As long as a real slot: an operation and 24 hexadecimal digits."""
    return f"POST /v1/resources/{index % 1000} {index:024x}"


def row(index: int) -> Source:
    """The row under a record: ten in a row share it, and rows are spread over the tables."""
    number = index // PER_ROW
    return Source.row(ISSUER, f"table_{number % TABLES}", f"key_{number}")


def bodies(count: int) -> Iterator[str]:
    """The stored text of each record."""
    return (json.dumps(_body(index)) for index in range(count))


def many(count: int) -> Iterator[Record]:
    """The records, each read from its own text: nothing is shared that a store would not share."""
    return (
        Record.from_json(record_id(index), json.loads(body))
        for index, body in enumerate(bodies(count))
    )


def _body(index: int) -> dict[str, Any]:
    operation = f"POST /v1/resources/{index % 1000}"
    return {
        "kind": "fix",
        "slot": slot(index),
        "content": {
            "type": "USE_REQUIRED_FUNDING_TYPE",
            "parameters": {"payment_method_token": f"acme_pm_visa_credit_{index}"},
            "when": {"payment_method_token": f"acme_pm_visa_debit_{index}"},
            "request": None,
        },
        "valid": [1_700_000_000_000_000 + index, None],
        "topic": operation,
        "issuer": ISSUER,
        "scope": [None, None, None, None, None],
        "stamps": [[list(row(index)), "1.0.0", "1.0.0"], [["rules", ISSUER, "", ""], _RULES, None]],
        "receipts": [
            [
                ISSUER,
                ["probe", "exchange", operation, ""],
                1_700_000_000_000_000 + index,
                f"{index:064x}",
                "confirms",
            ]
        ],
        "epoch": 0,
    }
