"""`acme-rules-v1`: a service whose suggestions carry what its rules reach from where it looked.

Each answer is read from one row. What it follows from beyond that row is what the rules say, and
the rules are what moves in this world: rows and values stay as they are. So `tables` is the row's
table and whatever the rules lead to from it, as they are declared at that moment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import (
    BY_KEY,
    Reading,
    Registry,
    Rule,
    Table,
    TableVersion,
    Violation,
    amend,
    reachable,
)
from lapse_bench.worlds import acme

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["NAME", "RULES", "fix_holds", "initial", "judge"]

NAME: Final = "acme-rules-v1"

_CONTRACT: Final = {"contract": "enterprise_annual"}
"""Gives the rules that lead to `funding_type_policy` a row to name."""

_TABLES: Final[Mapping[str, Mapping[str, Any]]] = {
    name: {key: {**row, **_CONTRACT} for key, row in rows.items()}
    if name in ("active_csm_codes", "required_promo_policy")
    else rows
    for name, rows in acme.TABLES.items()
}

RULES: Final = (
    Rule("active_csm_codes", "promo_eligibility", "requires_recognition", via="code"),
    Rule("required_promo_policy", "active_csm_codes", "resolved_by", via="plans"),
    Rule("required_promo_policy", "funding_type_policy", "scoped_by", via="contract"),
    Rule("token_funding_map", "recommended_credit_token", "replaced_by", via=BY_KEY),
)
"""The rules that every run starts with."""


def initial() -> Registry:
    """The tables and rules that every run starts with."""
    return Registry.of([Table(name, rows, "1.0.0") for name, rows in _TABLES.items()], RULES)


def judge(operation: str, request: JsonObject, tables: Reading) -> Violation | None:
    """The first policy of the operation that the request violates; None when it passes."""
    for policy in _OPERATIONS.get(operation, ()):
        tables.forget()
        violation = policy(request, tables)
        if violation is not None:
            return violation
    return None


def fix_holds(fix: Fix, operation: str, registry: Registry) -> bool:
    """Whether the service, as it stands, accepts what the fix makes of the requests it is for."""
    return judge(operation, amend(fix.when or {}, fix.parameters), Reading(registry)) is None


def _campaign(request: JsonObject, tables: Reading) -> Violation | None:
    program = request.get("program")
    row = tables["required_promo_policy"].get(program) if isinstance(program, str) else None
    if row is None or request.get("campaign") == row["campaign"]:
        return None
    answer = {"campaign": row["campaign"]}
    return _violation(tables, "required-campaign", "ADD_CAMPAIGN", answer, {"program": program})


def _code(request: JsonObject, tables: Reading) -> Violation | None:
    plan = request.get("plan")
    row = tables["active_csm_codes"].get(plan) if isinstance(plan, str) else None
    if row is None or request.get("promotion_code") == row["code"]:
        return None
    answer = {"promotion_code": row["code"]}
    return _violation(tables, "assigned-code", "ADD_PROMOTION_CODE", answer, {"plan": plan})


def _token(request: JsonObject, tables: Reading) -> Violation | None:
    token = request.get("payment_method_token")
    if not isinstance(token, str):
        return None
    row = tables["token_funding_map"].get(token)
    if row is None or row["funding"] == "credit":
        return None
    # The replacement's table is one that the rules lead to: it counts whole, not by its row.
    replacement = tables["recommended_credit_token"].peek()[token]["token"]
    answer = {"payment_method_token": replacement}
    when = {"payment_method_token": token}
    return _violation(tables, "funding-type", "USE_REQUIRED_FUNDING_TYPE", answer, when)


def _violation(
    tables: Reading, policy: str, kind: str, answer: JsonObject, when: JsonObject
) -> Violation:
    fix = tables.suggest(kind, answer, when=when)
    registry = tables.registry
    reached = reachable([entry.table for entry in fix.tables], registry.rules)
    vector = tuple(TableVersion(t, registry.tables[t].version) for t in sorted(reached))
    return Violation(
        policy=policy,
        title="The request lacks what the service has on file",
        detail="A member that the service has on file is missing or another one.",
        suggestions=(replace(fix, tables=vector),),
    )


_OPERATIONS: Final[Mapping[str, tuple[Callable[[JsonObject, Reading], Violation | None], ...]]] = {
    "POST /v1/subscriptions": (_campaign, _code),
    "POST /v1/payments": (_token,),
    "POST /v1/customers": (),
}
