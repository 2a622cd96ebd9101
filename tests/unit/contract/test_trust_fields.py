"""What a fix may set."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import FieldFlaw, FieldRules, field_flaw
from lapse.errors import InvalidValue

CALL = "POST /v1/subscriptions"
RULES = FieldRules()


@pytest.mark.parametrize(
    ("parameters", "flaw"),
    [
        ({"promotion_code": "SUMMERSALE25"}, None),
        ({"plan": {"tier": "growth", "seats": 5}}, None),
        ({"tags": ["a", "b"], "empty": {}, "none": [], "nothing": None}, None),
        ({"notify_url": "x"}, FieldFlaw.SENSITIVE),
        ({"notifyURL": "x"}, FieldFlaw.SENSITIVE),
        ({"webhook-target": "x"}, FieldFlaw.SENSITIVE),
        ({"API_KEY": "x"}, FieldFlaw.SENSITIVE),
        ({"apiKey": "x"}, FieldFlaw.SENSITIVE),
        ({"invoice": {"amount": 5}}, FieldFlaw.SENSITIVE),
        ({"lines": [{"recipient": "x"}]}, FieldFlaw.SENSITIVE),
        ({"to": "x"}, FieldFlaw.SENSITIVE),
        ({"tomorrow": "x"}, None),
        ({"note": "https://evil.example/x"}, FieldFlaw.ADDRESS),
        ({"note": " //evil.example"}, FieldFlaw.ADDRESS),
        ({"note": "JavaScript:alert(1)"}, FieldFlaw.ADDRESS),
        ({"note": "ratio 1//2"}, None),
        ({"notes": ["fine", ["mailto:me@evil.example"]]}, FieldFlaw.ADDRESS),
        ({"note": "one\x00two"}, FieldFlaw.CONTROL),
        ({"note": "one\ntwo"}, None),
        ({"one\u2028two": 1}, FieldFlaw.CONTROL),
        ({"note": float("nan")}, FieldFlaw.CONTROL),
        ({"note": "x" * 9_000}, FieldFlaw.TOO_LARGE),
    ],
)
@pytest.mark.requirement("C-TRU-20")
def test_a_fix_sets_nothing_that_moves_money_addresses_or_opens(
    parameters: dict[str, Any], flaw: FieldFlaw | None
) -> None:
    assert field_flaw(CALL, parameters, RULES) is flaw


@pytest.mark.requirement("C-TRU-20")
def test_a_sensitive_field_can_be_allowed_by_name() -> None:
    rules = FieldRules(allowed=frozenset({"invoice.currency_token"}))
    assert field_flaw(CALL, {"invoice": {"currency_token": "x"}}, rules) is None
    assert field_flaw(CALL, {"currency_token": "x"}, rules) is FieldFlaw.SENSITIVE


@pytest.mark.requirement("C-TRU-20")
def test_where_the_fields_of_an_operation_are_listed_no_other_is_set() -> None:
    rules = FieldRules(fields={CALL: frozenset({"plan", "promotion.code"})})
    assert field_flaw(CALL, {"plan": "x", "promotion": {"code": "y"}}, rules) is None
    assert field_flaw(CALL, {"promotion": {"name": "y"}}, rules) is FieldFlaw.NOT_ALLOWED
    assert field_flaw("POST /other", {"promotion": {"name": "y"}}, rules) is None


@pytest.mark.requirement("C-TRU-20")
def test_nothing_hides_in_the_depth() -> None:
    value: Any = {"url": "x"}
    for _ in range(40):
        value = {"a": [value]}
    assert field_flaw(CALL, value, RULES) is FieldFlaw.SENSITIVE


def test_a_bound_lets_something_through() -> None:
    with pytest.raises(InvalidValue, match="longest_bytes"):
        FieldRules(longest_bytes=0)
