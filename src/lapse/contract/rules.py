"""Derivation rules: which row of one table says something about which row of another.

The fingerprint covers what is declared, never the data: the sorted list of distinct
``[from, to, relation]`` triples as RFC 8785 bytes, hashed with SHA-256, of which the first 12 hex
characters are kept (C-RUL-01).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lapse.contract.names import check_name
from lapse.errors import InvalidValue
from lapse.ledger import canonical, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["BY_KEY", "Rule", "fingerprint", "member"]

BY_KEY = "@key"
"""The `via` of a rule that joins rows with the same key."""

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Rule:
    """One declaration.

    Attributes:
        from_table: where the derivation starts.
        to_table: where it leads.
        relation: its name.
        via: where a from-row holds a key, or a list of keys, of the to-table: a member name or a
            dotted path; empty: the row itself; `BY_KEY`: the row's own key.
    """

    from_table: str
    to_table: str
    relation: str
    via: str = ""

    def __post_init__(self) -> None:
        """Refuse names that cannot travel."""
        check_name("from_table", self.from_table)
        check_name("to_table", self.to_table)
        check_name("relation", self.relation)
        if self.via:
            check_name("via", self.via)

    def targets(self, key: str, row: object) -> Iterator[str]:
        """The keys of the to-table that a from-row names, whether they exist or not."""
        if self.via == BY_KEY:
            yield key
            return
        _, held = member(row, self.via)
        targets = cast("list[Any]", held) if isinstance(held, list) else [held]
        for target in targets:
            if isinstance(target, str):
                yield target


def fingerprint(rules: Iterable[Rule]) -> str:
    """The fingerprint of a set of rules; neither order nor repetition counts."""
    triples = sorted({(rule.from_table, rule.to_table, rule.relation) for rule in rules})
    return digest(canonical([list(triple) for triple in triples]))[:_DIGITS]


def member(value: object, path: str) -> tuple[bool, Any]:
    """The member of a JSON object at a dotted path, and whether it is there.

    A member whose name holds the dots counts before the path; an empty path is the value itself.
    """
    here: Any = value
    for name in _steps(value, path):
        if not isinstance(here, dict) or name not in here:
            return False, None
        here = cast("dict[str, Any]", here)[name]
    return True, here


def _steps(value: object, path: str) -> list[str]:
    if not path:
        return []
    return [path] if isinstance(value, dict) and path in value else path.split(".")


def check_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules as declared, without repetitions.

    Raises:
        InvalidValue: one triple is declared with two different `via`.
    """
    declared: dict[tuple[str, str, str], Rule] = {}
    for rule in rules:
        triple = (rule.from_table, rule.to_table, rule.relation)
        if declared.setdefault(triple, rule) != rule:
            remedy = f"declare {' -> '.join(triple)} once, or give the second relation its own name"
            raise InvalidValue("via", rule.via, remedy)
    return tuple(declared.values())
