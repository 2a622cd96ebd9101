"""`acme-billing-v1`: five policies over six reference tables, 23 rows and 20 derivations.

==========================  ==================================================================
required campaign           a subscription under a programme names that programme's campaign
assigned code               a plan with a code on file carries that code, and it is recognised
recognised code             any promotion code is one that can be redeemed
funding type                a contract that asks for credit is not paid with a debit token
amount precision            an amount has at most two decimals: follows from the request alone
==========================  ==================================================================

Requests are judged by what they carry: a policy that concerns a member which is not there says
nothing, so a fix can be judged by the members it speaks of alone.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import BY_KEY, Reading, Registry, Rule, Table, Violation, amend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["NAME", "OPERATIONS", "RULES", "TABLES", "fix_holds", "initial", "judge"]

NAME: Final = "acme-billing-v1"

TABLES: Final[Mapping[str, dict[str, dict[str, Any]]]] = {
    "active_csm_codes": {
        "plan_partner_growth": {"code": "SUMMERSALE25"},
        "plan_partner_scale": {"code": "PARTNER20"},
        "plan_startup": {"code": "LAUNCHPAD10"},
        "plan_nonprofit": {"code": "GOODWORKS15"},
    },
    "promo_eligibility": {
        "SUMMERSALE25": {"off_pct": 25},
        "WINTERLAUNCH26": {"off_pct": 26},
        "PARTNER20": {"off_pct": 20},
        "LAUNCHPAD10": {"off_pct": 10},
        "GOODWORKS15": {"off_pct": 15},
    },
    "required_promo_policy": {
        "partner": {
            "campaign": "cmp_partner",
            "plans": ["plan_partner_growth", "plan_partner_scale"],
        },
        "early_stage": {"campaign": "cmp_founders", "plans": ["plan_startup", "plan_nonprofit"]},
    },
    "funding_type_policy": {
        "enterprise_annual": {
            "funding": "credit",
            "replaces": ["acme_pm_visa_debit", "acme_pm_mc_debit"],
        },
        "enterprise_monthly": {
            "funding": "credit",
            "replaces": ["acme_pm_maestro_debit", "acme_pm_discover_debit"],
        },
    },
    "token_funding_map": {
        "acme_pm_visa_debit": {"funding": "debit"},
        "acme_pm_mc_debit": {"funding": "debit"},
        "acme_pm_maestro_debit": {"funding": "debit"},
        "acme_pm_discover_debit": {"funding": "debit"},
        "acme_pm_visa_credit": {"funding": "credit"},
        "acme_pm_mc_credit": {"funding": "credit"},
    },
    "recommended_credit_token": {
        "acme_pm_visa_debit": {"token": "acme_pm_visa_credit"},
        "acme_pm_mc_debit": {"token": "acme_pm_mc_credit"},
        "acme_pm_maestro_debit": {"token": "acme_pm_mc_credit"},
        "acme_pm_discover_debit": {"token": "acme_pm_visa_credit"},
    },
}
"""The rows that every run starts with."""

RULES: Final = (
    Rule("active_csm_codes", "promo_eligibility", "requires_recognition", via="code"),
    Rule("required_promo_policy", "active_csm_codes", "resolved_by", via="plans"),
    Rule("token_funding_map", "recommended_credit_token", "replaced_by", via=BY_KEY),
    Rule("recommended_credit_token", "token_funding_map", "must_be_credit", via="token"),
    Rule("funding_type_policy", "recommended_credit_token", "governs", via="replaces"),
)

_CENT: Final = Decimal("0.01")


def initial() -> Registry:
    """The tables and rules that every run starts with, each table at version 1.0.0."""
    return Registry.of([Table(name, rows, "1.0.0") for name, rows in TABLES.items()], RULES)


def judge(operation: str, request: JsonObject, tables: Reading) -> Violation | None:
    """The first policy of the operation that the request violates; None when it passes."""
    for policy in OPERATIONS.get(operation, ()):
        tables.forget()
        violation = policy(request, tables)
        if violation is not None:
            return violation
    return None


def fix_holds(fix: Fix, operation: str, registry: Registry) -> bool:
    """Whether the service, as it stands, accepts what the fix makes of the requests it is for."""
    return judge(operation, amend(fix.when or {}, fix.parameters), Reading(registry)) is None


def _required_campaign(request: JsonObject, tables: Reading) -> Violation | None:
    program = request.get("program")
    if not isinstance(program, str):
        return None
    row = tables["required_promo_policy"].get(program)
    if row is None or request.get("campaign") == row["campaign"]:
        return None
    fix = tables.suggest("ADD_CAMPAIGN", {"campaign": row["campaign"]}, when={"program": program})
    return Violation(
        policy="required-campaign",
        title="The programme's campaign is missing",
        detail=f"A subscription under {program} has to name the campaign of that programme.",
        suggestions=(fix,),
    )


def _assigned_code(request: JsonObject, tables: Reading) -> Violation | None:
    plan = request.get("plan")
    if not isinstance(plan, str):
        return None
    row = tables["active_csm_codes"].get(plan)
    if row is None or request.get("promotion_code") == row["code"]:
        return None
    if row["code"] not in tables["promo_eligibility"]:
        return None
    fix = tables.suggest(
        "ADD_PROMOTION_CODE",
        {"promotion_code": row["code"]},
        table="active_csm_codes",
        when={"plan": plan},
    )
    return Violation(
        policy="assigned-code",
        title="The promotion code on file is required",
        detail=f"The account owner of {plan} has a promotion code on file; the request has to "
        "carry it.",
        suggestions=(fix,),
    )


def _recognised_code(request: JsonObject, tables: Reading) -> Violation | None:
    code = request.get("promotion_code")
    if not isinstance(code, str) or code in tables["promo_eligibility"]:
        return None
    fix = tables.suggest(
        "REMOVE_PROMOTION_CODE", {"promotion_code": None}, when={"promotion_code": code}
    )
    return Violation(
        policy="recognised-code",
        title="The promotion code is not recognised",
        detail="The request carries a promotion code that cannot be redeemed.",
        suggestions=(fix,),
    )


def _funding_type(request: JsonObject, tables: Reading) -> Violation | None:
    contract, token = request.get("contract"), request.get("payment_method_token")
    if not isinstance(contract, str) or not isinstance(token, str):
        return None
    asked = tables["funding_type_policy"].get(contract)
    given = tables["token_funding_map"].get(token)
    if asked is None or (given is not None and given["funding"] == asked["funding"]):
        return None
    replacement = tables["recommended_credit_token"].get(token)
    suggestions = (
        ()
        if replacement is None
        else (
            tables.suggest(
                "USE_REQUIRED_FUNDING_TYPE",
                {"payment_method_token": replacement["token"]},
                when={"contract": contract, "payment_method_token": token},
            ),
        )
    )
    return Violation(
        policy="funding-type",
        title="The contract asks for another funding type",
        detail=f"The contract {contract} does not accept the funding type of the payment method "
        "given.",
        suggestions=suggestions,
    )


def _amount_precision(request: JsonObject, tables: Reading) -> Violation | None:
    try:
        amount = Decimal(str(request.get("amount", "0")))
        rounded = amount.quantize(_CENT, rounding=ROUND_HALF_EVEN)
    except InvalidOperation:
        return None
    if amount == rounded:
        return None
    fix = tables.suggest("ROUND_AMOUNT", {"amount": str(rounded)})
    return Violation(
        policy="amount-precision",
        title="The amount is too precise",
        detail="An amount has at most two decimals.",
        suggestions=(fix,),
    )


OPERATIONS: Final[Mapping[str, tuple[Callable[[JsonObject, Reading], Violation | None], ...]]] = {
    "POST /v1/subscriptions": (_required_campaign, _assigned_code, _recognised_code),
    "POST /v1/payments": (_funding_type, _amount_precision),
    "POST /v1/customers": (),
}
"""The policies of each operation, in the order in which they are asked."""
