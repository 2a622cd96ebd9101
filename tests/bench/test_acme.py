"""The billing world: its graph, its five policies, and the judgement of remembered fixes."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import CacheHint, Fix, Node, Reading, Registry, Suggestion
from lapse.ledger import Interval, Kind, Record
from lapse_bench.worlds import acme

SUBSCRIBE = "POST /v1/subscriptions"
PAY = "POST /v1/payments"


def suggested(operation: str, request: dict[str, Any], registry: Registry) -> list[Suggestion]:
    violation = acme.judge(operation, request, Reading(registry))
    return [] if violation is None else list(violation.suggestions)


def test_it_has_23_rows_and_20_derivations() -> None:
    graph = acme.initial().graph
    assert (len(list(graph.nodes())), len(list(graph.edges()))) == (23, 20)


def test_a_rotated_code_has_its_promotion_downstream() -> None:
    downstream = acme.initial().graph.affected_downstream(
        [Node("active_csm_codes", "plan_partner_growth")]
    )
    assert downstream == (Node("promo_eligibility", "SUMMERSALE25"),)


@pytest.mark.parametrize(
    ("operation", "request_", "type_", "parameters", "hint", "table"),
    [
        (
            SUBSCRIBE,
            {"plan": "plan_startup", "promotion_code": "LAUNCHPAD10", "program": "early_stage"},
            "ADD_CAMPAIGN",
            {"campaign": "cmp_founders"},
            CacheHint.CACHEABLE,
            "required_promo_policy",
        ),
        (
            SUBSCRIBE,
            {"plan": "plan_partner_growth"},
            "ADD_PROMOTION_CODE",
            {"promotion_code": "SUMMERSALE25"},
            CacheHint.CACHEABLE,
            "active_csm_codes",
        ),
        (
            SUBSCRIBE,
            {"promotion_code": "EXPIRED99"},
            "REMOVE_PROMOTION_CODE",
            {"promotion_code": None},
            CacheHint.CACHEABLE,
            "promo_eligibility",
        ),
        (
            PAY,
            {"contract": "enterprise_annual", "payment_method_token": "acme_pm_visa_debit"},
            "USE_REQUIRED_FUNDING_TYPE",
            {"payment_method_token": "acme_pm_visa_credit"},
            CacheHint.CACHEABLE,
            "recommended_credit_token",
        ),
        (PAY, {"amount": "10.005"}, "ROUND_AMOUNT", {"amount": "10.00"}, CacheHint.RECOMPUTE, None),
    ],
)
def test_each_policy_says_how_to_mend_the_request(
    operation: str,
    request_: dict[str, Any],
    type_: str,
    parameters: dict[str, Any],
    hint: CacheHint,
    table: str | None,
) -> None:
    (fix,) = suggested(operation, request_, acme.initial())
    assert (fix.type, fix.parameters, fix.cache_hint, fix.table) == (type_, parameters, hint, table)
    assert acme.judge(operation, {**request_, **parameters}, Reading(acme.initial())) is None


def test_a_funding_fix_rests_on_the_token_and_on_its_replacement() -> None:
    request = {"contract": "enterprise_annual", "payment_method_token": "acme_pm_visa_debit"}
    (fix,) = suggested(PAY, request, acme.initial())
    tables = {entry.table for entry in fix.tables}
    assert {"token_funding_map", "recommended_credit_token"} <= tables
    assert fix.when == request


def test_an_unknown_debit_token_is_refused_without_a_suggestion() -> None:
    request = {"contract": "enterprise_annual", "payment_method_token": "acme_pm_lost"}
    assert acme.judge(PAY, request, Reading(acme.initial())) is not None
    assert suggested(PAY, request, acme.initial()) == []


def test_a_fix_holds_until_the_row_behind_it_says_otherwise() -> None:
    registry = acme.initial()
    (given,) = suggested(SUBSCRIBE, {"plan": "plan_partner_growth"}, registry)
    content = {"type": given.type, "parameters": given.parameters, "when": given.when}
    record = Record(
        id="1", kind=Kind.FIX, slot="s", content=content, valid=Interval(0), topic=SUBSCRIBE
    )
    fix = Fix.of(record)
    rows = dict(registry.tables["active_csm_codes"].rows)
    rotated, _ = registry.reload(
        "active_csm_codes", {**rows, "plan_partner_growth": {"code": "WINTERLAUNCH26"}}
    )
    other, _ = registry.reload(
        "active_csm_codes", {**rows, "plan_partner_scale": {"code": "WINTERLAUNCH26"}}
    )
    assert [acme.fix_holds(fix, SUBSCRIBE, state) for state in (registry, other, rotated)] == [
        True,
        True,
        False,
    ]
