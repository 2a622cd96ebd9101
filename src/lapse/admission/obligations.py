"""Obligations: what a returning role still owes, and what it needs to know for that.

An obligation is opened by an item that names its required and critical dependencies, and its
progress frontier says how far it got (paper, C.3). Both are part of every view: a frontier tells
what is missing, and never stands in for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapse.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.admission.items import WorkItem

__all__ = ["Obligation", "obligations_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """What several items say about one obligation.

    Attributes:
        name: the obligation.
        opened_by: the items that open it, by id; together they demand what any of them does.
        frontiers: the items that tell its progress, by id; empty: nobody said how far it got.
        required: R_o, the dependencies that it needs.
        critical: K_o, those without which nothing may be shown.
    """

    name: str
    opened_by: tuple[str, ...]
    frontiers: tuple[str, ...]
    required: frozenset[str]
    critical: frozenset[str]


def obligations_in(items: Iterable[WorkItem]) -> tuple[Obligation, ...]:
    """The obligations that items open, by name, each with its frontiers."""
    opened: dict[str, list[WorkItem]] = {}
    frontiers: dict[str, list[str]] = {}
    for item in items:
        if item.kind is Kind.OBLIGATION:
            opened.setdefault(item.obligation, []).append(item)
        elif item.kind is Kind.FRONTIER:
            frontiers.setdefault(item.obligation, []).append(item.id)
    return tuple(
        Obligation(
            name=name,
            opened_by=tuple(sorted(item.id for item in opened[name])),
            frontiers=tuple(sorted(frontiers.get(name, ()))),
            required=frozenset(d for item in opened[name] for d in item.required),
            critical=frozenset(d for item in opened[name] for d in item.critical),
        )
        for name in sorted(opened)
    )
