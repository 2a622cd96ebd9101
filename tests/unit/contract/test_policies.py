"""Declared policies: what they decide, and what their fixes rest on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import (
    CacheHint,
    Check,
    Constant,
    Field,
    Found,
    LookUp,
    Operand,
    Policy,
    Reading,
    Registry,
    Rounded,
    Table,
    Template,
    Test,
    amend,
    violations,
)
from lapse.errors import InvalidValue

OPERATION = "POST /v1/subscriptions"
REGISTRY = Registry.of(
    [
        Table("codes", {"growth": {"code": "S25"}, "odd": {}}, "1"),
        Table("promo", {"S25": {}}, "1"),
        Table("funding", {"visa_debit": {"type": "debit"}, "visa_credit": {"type": "credit"}}, "1"),
        Table("replacement", {"visa_debit": "visa_credit"}, "1"),
        Table("contracts", {"annual": {"type": "credit"}}, "1"),
    ]
)


def policy(**parts: Any) -> Policy:
    given: dict[str, Any] = {
        "id": "p",
        "operation": OPERATION,
        "title": "T",
        "detail": "D",
        **parts,
    }
    return Policy(**given)


ASSIGNED = policy(
    id="assigned-code",
    look_ups={"assigned": LookUp("codes", Field("plan"))},
    require=Check(Field("promotion_code"), Test.EQUALS, Found("assigned", "code")),
    fix=Template("ADD", {"promotion_code": Found("assigned", "code")}),
)
FUNDING = policy(
    id="funding",
    look_ups={
        "contract": LookUp("contracts", Field("contract")),
        "token": LookUp("funding", Field("token")),
        "other": LookUp("replacement", Field("token")),
        "unused": LookUp("promo", Field("promotion_code")),
    },
    require=Check(Found("token", "type"), Test.EQUALS, Found("contract", "type")),
    fix=Template("USE", {"token": Found("other")}, table="funding"),
)
RECOGNISED = policy(
    id="recognised",
    when=(Check(Field("promotion_code"), Test.PRESENT, Constant(True)),),  # noqa: FBT003
    require=Check(Field("promotion_code"), Test.KEY_OF, Constant("promo")),
)
PRECISION = policy(
    id="precision",
    when=(Check(Field("amount"), Test.PRESENT, Constant(True)),),  # noqa: FBT003
    require=Check(Field("amount"), Test.DECIMALS, Constant(2)),
    fix=Template("ROUND", {"amount": Rounded("amount", 2)}),
)
ALL = (ASSIGNED, FUNDING, RECOGNISED, PRECISION)


def found(request: dict[str, Any], *policies: Policy, every: bool = False) -> list[Any]:
    return list(violations(policies, OPERATION, request, Reading(REGISTRY), every=every))


@pytest.mark.requirement("C-SUG-08")
def test_a_fix_says_what_it_rests_on_and_for_which_requests_it_holds() -> None:
    (violation,) = found({"plan": "growth", "promotion_code": "W26", "seats": 3}, ASSIGNED)
    assert violation.policy == "assigned-code"
    (fix,) = violation.suggestions
    assert fix.parameters == {"promotion_code": "S25"}
    assert fix.when == {"plan": "growth"}
    assert [(row.table, row.key) for row in fix.rows] == [("codes", "growth")]
    assert fix.cache_hint is CacheHint.CACHEABLE


def test_look_ups_chain_and_only_those_that_were_needed_count() -> None:
    (violation,) = found({"contract": "annual", "token": "visa_debit"}, FUNDING)
    (fix,) = violation.suggestions
    assert fix.parameters == {"token": "visa_credit"}
    assert fix.when == {"token": "visa_debit", "contract": "annual"}
    assert fix.table == "funding"
    assert {row.table for row in fix.rows} == {"contracts", "funding", "replacement"}


@pytest.mark.parametrize(
    ("request_", "policies"),
    [
        ({"plan": "growth", "promotion_code": "S25"}, (ASSIGNED,)),
        ({"plan": "unmanaged"}, (ASSIGNED,)),
        ({}, (ASSIGNED,)),
        ({"plan": 7}, (ASSIGNED,)),
        ({"contract": "annual", "token": "visa_credit"}, (FUNDING,)),
        ({"contract": "annual", "token": "unknown"}, (FUNDING,)),
        ({"contract": "monthly", "token": "visa_debit"}, (FUNDING,)),
        ({"promotion_code": "S25"}, (RECOGNISED,)),
        ({"promotion_code": None}, (RECOGNISED,)),
        ({"amount": 1.25}, (PRECISION,)),
        ({"amount": 3}, (PRECISION,)),
        ({"amount": 1e300}, (PRECISION,)),
    ],
)
def test_what_passes(request_: dict[str, Any], policies: tuple[Policy, ...]) -> None:
    assert found(request_, *policies) == []


def test_a_violation_without_a_fix_says_so_by_saying_nothing() -> None:
    (violation,) = found({"promotion_code": "W26"}, RECOGNISED)
    assert violation.suggestions == ()
    (violation,) = found({"plan": "odd", "promotion_code": "x"}, ASSIGNED)
    assert violation.suggestions == ()


@pytest.mark.requirement("C-SUG-04")
def test_rounding_follows_from_the_request_alone() -> None:
    (violation,) = found({"amount": 10.1249}, PRECISION)
    (fix,) = violation.suggestions
    assert (fix.parameters, fix.cache_hint, fix.when) == (
        {"amount": 10.12},
        CacheHint.RECOMPUTE,
        None,
    )


@pytest.mark.parametrize("amount", ["12", True, [1], float("nan"), float("inf")])
def test_what_is_no_number_has_no_rounding(amount: object) -> None:
    (violation,) = found({"amount": amount}, PRECISION)
    bare = not isinstance(amount, float)
    assert (violation.suggestions == ()) is bare


def test_policies_are_checked_in_order() -> None:
    request = {"plan": "growth", "promotion_code": "W26", "amount": 1.001}
    assert [v.policy for v in found(request, *ALL)] == ["assigned-code"]
    assert [v.policy for v in found(request, *ALL, every=True)] == [
        "assigned-code", "recognised", "precision"
    ]  # fmt: skip
    other = Reading(REGISTRY)
    assert violations(ALL, "GET /v1/subscriptions", request, other) == ()


def test_what_an_earlier_policy_read_does_not_burden_a_later_one() -> None:
    request = {"plan": "growth", "contract": "annual", "token": "visa_debit"}
    first, second = found(request, ASSIGNED, FUNDING, every=True)
    assert {row.table for row in first.suggestions[0].rows} == {"codes"}
    assert "codes" not in {row.table for row in second.suggestions[0].rows}


@pytest.mark.requirement("C-SUG-09")
def test_an_absent_field_that_decides_is_null_in_when() -> None:
    absent = policy(
        when=(Check(Field("coupon"), Test.PRESENT, Constant(False)),),  # noqa: FBT003
        look_ups={"row": LookUp("codes", Constant("growth"))},
        require=Check(Field("code"), Test.EQUALS, Found("row", "code")),
        fix=Template("ADD", {"deep.code": Found("row", "code")}),
    )
    (violation,) = found({"code": "x"}, absent)
    assert violation.suggestions[0].when == {"coupon": None}
    assert violation.suggestions[0].parameters == {"deep": {"code": "S25"}}


def test_a_row_that_must_not_be_there() -> None:
    unmanaged = policy(
        when=(Check(Found("row"), Test.PRESENT, Constant(False)),),  # noqa: FBT003
        look_ups={"row": LookUp("codes", Field("plan"))},
        require=Check(Field("promotion_code"), Test.PRESENT, Constant(False)),  # noqa: FBT003
        fix=Template("REMOVE", {"promotion_code": Constant(None)}),
    )
    (violation,) = found({"plan": "free", "promotion_code": "S25"}, unmanaged)
    (row,) = violation.suggestions[0].rows
    assert (row.key, row.version) == ("free", None)
    assert found({"plan": "growth", "promotion_code": "S25"}, unmanaged) == []


@pytest.mark.parametrize(
    ("subject", "test", "argument", "holds"),
    [
        (1, Test.EQUALS, 1.0, True),
        (True, Test.EQUALS, 1, False),
        (2**60, Test.EQUALS, 2**60, False),
        ("a", Test.ONE_OF, ["b", "a"], True),
        ("a", Test.ONE_OF, "a", False),
        (0.125, Test.DECIMALS, 3, True),
        (0.125, Test.DECIMALS, 2, False),
        (7, Test.KEY_OF, "promo", False),
    ],
)
def test_what_a_check_means(subject: object, test: Test, argument: object, *, holds: bool) -> None:
    asked = policy(require=Check(Field("x"), test, Constant(argument)))
    assert (found({"x": subject}, asked) == []) is holds


@given(st.sampled_from(["growth", "scale", None]), st.sampled_from(["S25", "W26", None]))
def test_a_fix_applied_satisfies_its_policy(plan: str | None, code: str | None) -> None:
    request = {"plan": plan, "promotion_code": code}
    for violation in found(request, ASSIGNED):
        for fix in violation.suggestions:
            assert found(amend(request, fix.parameters), ASSIGNED) == []


def test_a_detail_that_would_leak_is_left_out() -> None:
    leaky = policy(
        detail="Use S25.",
        look_ups=dict(ASSIGNED.look_ups),
        require=ASSIGNED.require,
        fix=ASSIGNED.fix,
    )
    (violation,) = found({"plan": "growth"}, leaky)
    assert (violation.detail, len(violation.suggestions)) == ("", 1)


@pytest.mark.parametrize(
    ("test", "argument"),
    [
        (Test.PRESENT, Constant("yes")),
        (Test.KEY_OF, Field("x")),
        (Test.DECIMALS, Constant(-1)),
        (Test.DECIMALS, Constant(True)),  # noqa: FBT003
    ],
)
def test_a_check_needs_an_argument_it_can_use(test: Test, argument: Operand) -> None:
    with pytest.raises(InvalidValue, match=test.value):
        Check(Field("x"), test, argument)


def test_a_policy_names_look_ups_that_come_before() -> None:
    require = Check(Found("nowhere"), Test.EQUALS, Constant(1))
    with pytest.raises(InvalidValue, match="none is declared"):
        policy(require=require)
    later = {"a": LookUp("codes", Found("b")), "b": LookUp("codes", Field("x"))}
    with pytest.raises(InvalidValue, match="before 'a'"):
        policy(require=Check(Found("a"), Test.EQUALS, Constant(1)), look_ups=later)
    earlier = {"b": LookUp("codes", Field("x")), "a": LookUp("promo", Found("b", "code"))}
    chained = policy(require=Check(Found("a"), Test.EQUALS, Constant({})), look_ups=earlier)
    assert found({"x": "growth"}, chained) == []
    assert chained.tables() == {"codes", "promo"}
    assert RECOGNISED.tables() == {"promo"}
