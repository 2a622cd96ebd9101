"""Which fixes are merged into a request, and the reason why each of the others is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.contract import (
    Amendment,
    AmendmentRules,
    Declined,
    DeclinedFix,
    FieldFlaw,
    FieldRules,
    Fix,
    SchemaCheck,
    amend,
    amendment,
)
from lapse.errors import InvalidValue
from lapse.ledger import JsonObject
from lapse.testing import sample
from lapse.testing.scribe import ISSUER

ORDER: JsonObject = {"plan": "growth", "ship": {"speed": "slow"}}


def fix(parameters: dict[str, Any], id_: str = "f", *, issuer: str = ISSUER) -> Fix:
    return Fix(replace(sample(id_), issuer=issuer), "SET", parameters, {"plan": "growth"})


def takes_all(parameters: JsonObject, request: JsonObject, /) -> Declined | None:
    """A schema that has nothing against anything."""
    del parameters, request
    return None


def merged(
    *fixes: Fix,
    request: JsonObject = ORDER,
    rules: AmendmentRules | None = None,
    check: SchemaCheck | None = takes_all,
) -> Amendment:
    return amendment(
        request,
        fixes,
        issuer=ISSUER,
        operation="place",
        rules=AmendmentRules() if rules is None else rules,
        check=check,
    )


def reasons(made: Amendment) -> list[str]:
    return [one.reason for one in made.declined]


def test_a_fix_is_merged_and_the_request_is_left_as_it_was() -> None:
    one = fix({"ship": {"speed": "fast"}, "code": "A"})
    before = {"plan": "growth", "ship": {"speed": "slow"}}
    made = merged(one, request=before)
    after = {"plan": "growth", "ship": {"speed": "fast"}, "code": "A"}
    assert made == Amendment(
        issuer=ISSUER, operation="place", before=before, after=after, merged=(one,)
    )
    assert before == ORDER


def test_a_later_fix_counts_over_an_earlier_one_and_one_that_is_there_is_not_merged() -> None:
    old, new, same = fix({"code": "A"}, "a"), fix({"code": "B"}, "b"), fix({"plan": "growth"}, "c")
    made = merged(old, new, same)
    assert (made.after, made.merged, made.declined) == ({**ORDER, "code": "B"}, (old, new), ())


def test_true_is_not_one() -> None:
    assert merged(fix({"n": True}), request={"n": 1}).after == {"n": True}


@pytest.mark.requirement("C-CLI-22")
def test_without_a_schema_nothing_is_merged() -> None:
    made = merged(fix({"code": "A"}), check=None)
    assert (made.after, reasons(made)) == (ORDER, [Declined.NO_SCHEMA])


@pytest.mark.requirement("C-CLI-11")
def test_a_fix_of_another_issuer_is_not_merged() -> None:
    assert reasons(merged(fix({"code": "A"}, issuer="https://other.example"))) == ["other_issuer"]


@pytest.mark.requirement("C-CLI-26")
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"payout_account": "DE00"}, FieldFlaw.SENSITIVE),
        ({"ship": {"recipient": "me"}}, FieldFlaw.SENSITIVE),
        ({"amount": 1}, FieldFlaw.SENSITIVE),
        ({"api_key": "x"}, FieldFlaw.SENSITIVE),
        ({"note": "https://evil.example/"}, FieldFlaw.ADDRESS),
        ({"note": "\u2028"}, FieldFlaw.CONTROL),
        ({"note": "x" * 9_000}, FieldFlaw.TOO_LARGE),
        ({"code": "A", "amount": 1}, FieldFlaw.SENSITIVE),
    ],
)
def test_what_is_sensitive_is_not_merged_and_neither_is_what_comes_with_it(
    parameters: dict[str, Any], reason: FieldFlaw
) -> None:
    made = merged(fix(parameters))
    assert (made.after, reasons(made)) == (ORDER, [reason])


@pytest.mark.requirement("C-CLI-26")
def test_a_sensitive_field_is_merged_when_it_is_allowed_by_name() -> None:
    rules = AmendmentRules(fields=FieldRules(allowed=frozenset({"amount"})))
    assert merged(fix({"amount": 1}), rules=rules).after == {**ORDER, "amount": 1}


@pytest.mark.requirement("C-CLI-26")
def test_the_users_rule_sees_operation_path_and_value_and_its_word_counts() -> None:
    seen: list[tuple[str, str, object]] = []

    def refuses(operation: str, path: str, value: object) -> bool:
        seen.append((operation, path, value))
        return path == "ship.speed"

    rules = AmendmentRules(refuses=refuses)
    made = merged(fix({"code": "A"}, "a"), fix({"ship": {"speed": "fast"}}, "b"), rules=rules)
    assert made.after == {**ORDER, "code": "A"}
    assert reasons(made) == [Declined.USERS_RULE]
    assert seen == [("place", "code", "A"), ("place", "ship.speed", "fast")]


@pytest.mark.requirement("C-CLI-26")
def test_a_users_rule_that_fails_refuses() -> None:
    def broken(_operation: str, _path: str, _value: object) -> bool:
        raise ZeroDivisionError

    rules = AmendmentRules(refuses=broken)
    assert reasons(merged(fix({"code": "A"}), rules=rules)) == [Declined.USERS_RULE]


def test_what_the_schema_has_against_a_fix_is_the_reason() -> None:
    def check(parameters: JsonObject, request: JsonObject, /) -> Declined | None:
        assert request == amend(ORDER, parameters)
        return Declined.NOT_ACCEPTED if "code" in parameters else None

    made = merged(fix({"code": "A"}, "a"), fix({"tier": "gold"}, "b"), check=check)
    assert made.after == {**ORDER, "tier": "gold"}
    assert made.declined == (DeclinedFix(fix({"code": "A"}, "a"), Declined.NOT_ACCEPTED),)


def test_requests_and_the_number_of_fixes_are_bounded() -> None:
    few = AmendmentRules(most_fixes=1)
    made = merged(fix({"code": "A"}, "a"), fix({"tier": "gold"}, "b"), rules=few)
    assert (made.after, reasons(made)) == ({**ORDER, "code": "A"}, [Declined.TOO_MANY])
    short = AmendmentRules(longest_bytes=60)
    assert reasons(merged(fix({"code": "A" * 40}), rules=short)) == [Declined.TOO_LARGE]
    with pytest.raises(InvalidValue, match="most_fixes"):
        AmendmentRules(most_fixes=0)
    with pytest.raises(InvalidValue, match="longest_bytes"):
        AmendmentRules(longest_bytes=0)


def test_what_has_no_canonical_form_could_not_be_recorded_and_is_not_merged() -> None:
    made = merged(fix({"code": "A"}), request={"n": 2**60})
    assert (made.after, reasons(made)) == ({"n": 2**60}, [Declined.NO_CANONICAL_FORM])
    assert reasons(merged(fix({"code": "A"}), request={"n": float("nan")})) == [
        Declined.NO_CANONICAL_FORM
    ]


def test_an_amendment_can_be_taken_back_whole() -> None:
    one, other = fix({"code": "A"}, "a"), fix({"amount": 1}, "b")
    made = merged(one, other).without(Declined.NOT_CONFIRMED)
    assert (made.after, made.merged) == (ORDER, ())
    assert made.declined == (
        DeclinedFix(other, FieldFlaw.SENSITIVE),
        DeclinedFix(one, Declined.NOT_CONFIRMED),
    )


names = st.sampled_from(["plan", "code", "amount", "ship", "n", "to"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["a", "https://x.example"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
requests = st.dictionaries(names, values, max_size=4)


@settings(max_examples=100)
@given(request=requests, parameters=st.lists(requests, max_size=4))
def test_laws_of_amending(request: dict[str, Any], parameters: list[dict[str, Any]]) -> None:
    fixes = [fix(one, str(number)) for number, one in enumerate(parameters)]
    made = merged(*fixes, request=request)
    replayed: JsonObject = request
    for one in made.merged:
        replayed = amend(replayed, one.parameters)
    assert made.after == replayed  # what was merged explains what came out
    assert {one.id for one in made.merged}.isdisjoint(one.fix.id for one in made.declined)
    assert merged(*made.merged[-1:], request=made.after).after == made.after  # once is enough
    assert merged(*fixes, request=request, check=None).after == request
