"""Every attack does harm to a client without protection, and less or none to one with it."""

from __future__ import annotations

import pytest

from lapse_bench.attacks import CASES, Case
from lapse_bench.attacks.running import GRAVE, problems, run_case

BY_NAME = {case.name: case for case in CASES}

Harm = dict[str, int]

QUICK: dict[str, tuple[Harm, Harm]] = {
    # Harm without protection, harm with it: the grave outcomes that are not zero.
    "diff_of_the_wrong_row": ({"stale_fixes_applied": 1, "true_fixes_lost": 1}, {}),
    "stripped_signatures": ({"true_fixes_lost": 12}, {}),
    "poisoned_fix": ({"parameters_injected": 24}, {}),
    "dependency_cycle": ({"true_fixes_lost": 11}, {}),
    "reused_version": ({"stale_fixes_applied": 12}, {"stale_fixes_applied": 1}),
    "hostile_names": ({}, {}),
    "merged_account": ({"parameters_injected": 60}, {}),
    "merged_choice": ({"parameters_injected": 60}, {"parameters_injected": 60}),
    "merged_and_said_again": ({"stale_fixes_applied": 120}, {"stale_fixes_applied": 24}),
}
SLOW: dict[str, tuple[Harm, Harm]] = {
    "forged_nothing_changed": ({"stale_fixes_applied": 12}, {"stale_fixes_applied": 1}),
    "replayed_version_map": ({"true_fixes_lost": 12}, {}),
    "frozen_by_a_proxy": ({"stale_fixes_applied": 12}, {"stale_fixes_applied": 1}),
    "substituted_key": ({"true_fixes_lost": 12}, {}),
    "stamp_of_another_tenant": ({"stale_fixes_applied": 1}, {}),
    "foreign_location": ({}, {}),
    "value_changed_on_the_way": ({"stale_fixes_applied": 12}, {"stale_fixes_applied": 12}),
    "invalidation_flood": (
        {"stale_fixes_applied": 1, "true_fixes_lost": 12},
        {"stale_fixes_applied": 1},
    ),
    "false_drift": ({}, {}),
    "two_stories": ({"true_fixes_lost": 12}, {}),
    "rolled_back": ({"true_fixes_lost": 12}, {}),
    "merged_extra": ({"parameters_injected": 60}, {}),
    "merged_choice_listed": ({"parameters_injected": 60}, {}),
    "merged_into_failure": ({"stale_fixes_applied": 60}, {"stale_fixes_applied": 12}),
    "silent_service": ({"stale_fixes_applied": 12}, {"stale_fixes_applied": 12}),
}


def played(case: Case, before: dict[str, int], after: dict[str, int]) -> None:
    result = run_case(case)
    grave = [
        {name: result[side][name] for name in GRAVE if result[side][name]}
        for side in ("harm_unprotected", "harm_protected")
    ]
    assert grave == [before, after]
    assert set(case.detected_as) <= set(result["detected_as"])
    assert list(problems([case], [result])) == []
    assert result["residual"]


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.requirement("C-TRU-10", "C-TRU-13", "C-TRU-16", "C-TRU-20", "C-TRU-22")
@pytest.mark.requirement("C-CLI-25", "C-CLI-26", "C-CLI-29")
def test_an_attack_does_what_it_says_and_protection_helps(name: str) -> None:
    played(BY_NAME[name], *QUICK[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
@pytest.mark.requirement("C-TRU-06", "C-TRU-07", "C-TRU-09", "C-TRU-12", "C-TRU-18", "C-TRU-19")
def test_a_longer_attack_does_what_it_says_and_protection_helps(name: str) -> None:
    played(BY_NAME[name], *SLOW[name])


def test_every_case_is_tried_and_has_a_name_of_its_own() -> None:
    assert sorted(BY_NAME) == sorted([*QUICK, *SLOW])
    assert len(BY_NAME) == len(CASES) == 24


def test_a_result_that_is_bad_news_is_a_problem() -> None:
    case = BY_NAME["stripped_signatures"]
    clean: Harm = dict.fromkeys(GRAVE, 0)
    harmed = {**clean, "true_fixes_lost": 3}
    detected = list(case.detected_as)

    def told(before: dict[str, int], after: dict[str, int], seen: list[str], of: Case) -> list[str]:
        found = {"harm_unprotected": before, "harm_protected": after, "detected_as": seen}
        return list(problems([of], [found]))

    assert told(harmed, clean, detected, case) == []
    assert told(harmed, harmed, detected, case) == [
        "stripped_signatures: protection does not help (before (3, 0), after (3, 0))"
    ]
    assert told(harmed, clean, [], case) == ["stripped_signatures: it was not detected as unsigned"]
    always = BY_NAME["foreign_location"]
    assert told(harmed, clean, list(always.detected_as), always) == [
        "foreign_location: it did harm, and every client is to be safe from it"
    ]
