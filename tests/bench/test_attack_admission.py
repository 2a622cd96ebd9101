"""Every attack on admission is refused for its own reason, and gets through without its control."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from lapse_bench.attacks.admission import (
    ADMISSION_CASES,
    DECIDED,
    problems,
    run_admission,
    run_case,
)
from lapse_bench.attacks.admission_scene import AdmissionCase, Control, Defence, Outcome, complete
from lapse_bench.attacks.admission_views import bits_of, flipped
from lapse_bench.cli import app
from lapse_bench.provenance import Provenance

BY_NAME = {case.name: case for case in ADMISSION_CASES}
LIMITS = {"claimed_authority", "borrowed_receipt", "lived_borrowed_receipt"}
QUICK = sorted({case.name for case in DECIDED} - LIMITS - {"flipped_bits"})
LIVED = sorted(BY_NAME.keys() - {case.name for case in DECIDED} - LIMITS)
SOME_LIVED = [
    "lived_purged_item",
    "lived_rewritten_ledger",
    "lived_rotated_key",
    "lived_smuggled_past_the_door",
    "lived_talked_over_verifier",
    "lived_withdrawn_by_an_agent",
]
"""Those that no attack on values comes close to; each opens databases, so the others are slow."""
NOWHERE = Provenance(date="2026-12-01T00:00:00+00:00", commit=None, machine={})

PANEL = {
    "wrong_principal": ["principal_mismatch"],
    "old_revision": ["epoch_mismatch"],
    "expired_view": ["view_expired"],
    "forged_signature": ["signature_invalid"],
    "replayed_view": ["cycle_mismatch"],
    "cross_role_scope": ["authorization_denied"],
    "superseded_item": ["superseded"],
    "missing_critical_dependency": ["insufficient_coverage", "insufficient_critical"],
    "disclosure_budget": ["insufficient_coverage", "insufficient_critical"],
    "unproven_item": ["provenance_missing"],
}
"""The rows of the source's security panel, with what refuses each."""

LAYERED = {
    "coverage_altered": ["coverage_mismatch"],
    "text_redigested": ["item_lapsed"],
    "text_altered": ["digest_mismatch"],
}
"""Attacks that a second control meets when the signature is not looked at."""

NEVER = {
    "experience_of_another": ["authorization_denied"],
    "smuggled_plan": ["attributes"],
    "no_gates": ["no_gates"],
    "frontier_as_evidence": ["supports"],
}
"""Attacks that no single control off lets through."""


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_is_refused_and_gets_through_without_its_control(name: str) -> None:
    case = BY_NAME[name]
    result = run_case(case)
    assert result["strong"] == {"through": False, "reasons": list(case.refused_as)}
    assert case.refused_as
    assert list(problems([case], [result])) == []
    if name in LAYERED:
        assert (result["held_by"], result["through_without"]) == (LAYERED[name], [])
    elif name in NEVER:
        assert (result["strong"]["reasons"], result["through_without"]) == (NEVER[name], [])
    else:
        assert set(result["weakened"]) <= set(result["through_without"])
        assert result["weak"]["through"]


def refused_in_a_workspace(name: str) -> None:
    case = BY_NAME[name]
    result = run_case(case)
    assert result["over"] == "a workspace on SQLite"
    assert result["strong"] == {"through": False, "reasons": list(case.refused_as)}
    assert case.refused_as
    assert list(problems([case], [result])) == []


@pytest.mark.parametrize("name", SOME_LIVED)
def test_an_attack_on_a_workspace_is_refused(name: str) -> None:
    refused_in_a_workspace(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(LIVED) - set(SOME_LIVED)))
def test_every_attack_on_a_workspace_is_refused(name: str) -> None:
    refused_in_a_workspace(name)


def test_no_turned_bit_of_a_view_is_taken() -> None:
    case = BY_NAME["flipped_bits"]
    result = run_case(case)
    assert result["strong"] == {"through": False, "reasons": ["signature_invalid"]}
    assert result["through_without"] == ["signature"]
    signed = complete().signed
    size = bits_of(signed)
    assert size == 8 * (len(signed.body) + 2 + 32) > 30_000
    turned = [flipped(signed, bit) for bit in (0, size - 1)]
    assert [one == signed for one in turned] == [False, False]
    assert flipped(turned[1], size - 1) == signed


def test_the_panel_is_whole_and_each_row_has_its_reason() -> None:
    assert {case.name: list(case.refused_as) for case in ADMISSION_CASES if case.panel} == PANEL


def test_what_nothing_stops_is_said_to_be_a_limit() -> None:
    assert {case.name for case in ADMISSION_CASES if case.known_limit} == LIMITS
    for name in LIMITS:
        case = BY_NAME[name]
        assert case.run_strong() == Outcome(through=True)
        assert case.residual


def test_every_control_keeps_something_out() -> None:
    named = {control for case in ADMISSION_CASES for control in case.controls}
    assert named == set(Control)


def getting_through(_defence: Defence) -> Outcome:
    return Outcome(through=True)


def test_a_result_that_is_bad_news_is_a_problem() -> None:
    def played(case: AdmissionCase) -> list[str]:
        return list(problems([case], [run_case(case)]))

    case = BY_NAME["wrong_principal"]
    through = replace(case, run=getting_through)
    assert played(through) == ["wrong_principal: it got through"]
    other = replace(case, refused_as=("epoch_mismatch",))
    assert played(other) == [
        "wrong_principal: refused as ['principal_mismatch'], and not as ('epoch_mismatch',)"
    ]
    useless = replace(case, controls=(Control.SIZE,))
    assert played(useless) == [
        "wrong_principal: it fails without ['size gate'] too, so they prove nothing"
    ]
    stopped = replace(case, known_limit=True)
    assert played(stopped) == ["wrong_principal: it is refused, and said to be a limit"]


def test_a_control_is_worth_what_gets_through_without_it() -> None:
    names = ("wrong_principal", "coverage_altered", "implied_invalidation", "borrowed_receipt")
    result = run_admission([BY_NAME[name] for name in names], provenance=NOWHERE)
    assert result["problems"] == []
    worth = result["controls"]
    assert worth["principal"] == {"alone": ["wrong_principal"], "with_others": []}
    assert worth["signature"] == {"alone": [], "with_others": ["coverage_altered"]}
    assert worth["inference"]["alone"] == worth["temporal gate"]["alone"] == [names[2]]
    assert [case["name"] for case in result["known_limits"]] == ["borrowed_receipt"]
    assert "borrowed_receipt" not in {case["name"] for case in result["cases"]}


def test_the_command_prints_json_and_refuses_a_name_it_does_not_know() -> None:
    asked = ["attack", "admission", "--format", "json", "--only"]
    ran = CliRunner().invoke(app, [*asked, "old_revision"])
    assert ran.exit_code == 0
    result = json.loads(ran.stdout)
    assert (result["benchmark"], len(result["cases"])) == ("attack admission", 1)
    assert result["cases"][0]["strong"] == {"through": False, "reasons": ["epoch_mismatch"]}
    assert {"date", "commit", "machine"} <= result.keys()
    assert "wrong_principal" in str(CliRunner().invoke(app, [*asked, "nothing"]).exception)
