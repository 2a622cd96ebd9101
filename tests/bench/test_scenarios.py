"""Scenario files: what the shipped ones hold, and how a wrong one is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lapse.errors import InvalidValue
from lapse_bench.scenarios import SHIPPED, load

GOOD = """
name: mine
world: acme-billing-v1
stream: payments-36
excluded_slots: [12]
funding_split: 24
events:
  - {before: 12, table: active_csm_codes, kind: bump, version: "2.0.0"}
"""

EVERY_LATER_ONE = (4, 7, 10, 12, 13, 18, 22, 25, 28, 31, 34)
"""The governed episodes but for the first, in which nothing can be known."""


def test_the_stream_has_three_blocks_of_four_classes() -> None:
    episodes = load("payments").episodes
    assert Counter(task.family for task in episodes) == {
        "governed": 12,
        "funding": 9,
        "control": 6,
        "none": 9,
    }
    for block in range(3):
        families = Counter(task.family for task in episodes[12 * block : 12 * block + 12])
        assert families == {"governed": 4, "funding": 3, "control": 2, "none": 3}


def test_what_no_score_counts_is_an_index_list_in_the_file() -> None:
    assert {name: load(name).excluded_slots for name in SHIPPED} == {
        "payments": (12, 13),
        "undrifted": (),
        "rotations-1": (12, 13),
        "rotations-2": (12, 13, 25, 28),
        "rotations-3": (12, 13, 22, 25, 31, 34),
        "rotations-4": (12, 13, 18, 22, 25, 28, 31, 34),
        "rotations-5": (7, 10, 12, 13, 18, 22, 25, 28, 31, 34),
        "rotations-6": EVERY_LATER_ONE,
        "rotations-8": EVERY_LATER_ONE,
        "rotations-11": EVERY_LATER_ONE,
        "channels": (),
        "vectors": (),
        "two-at-once": (),
        "story": (2,),
    }


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 8, 11])
def test_a_rotation_never_brings_an_old_code_back(count: int) -> None:
    scenario = load(f"rotations-{count}")
    turns = [event for event in scenario.events if event.table == "active_csm_codes"]
    codes = [event.rows["plan_partner_growth"] for event in turns]
    assert len(turns) == count
    assert len({str(row) for row in codes} | {"SUMMERSALE25"}) == count + 1
    assert len({event.version for event in turns} | {"1.0.0"}) == count + 1
    governed = [at for at, task in enumerate(scenario.episodes) if task.family == "governed"]
    slots = {s for turn in turns for s in [at for at in governed if at >= turn.before][:2]}
    assert set(scenario.excluded_slots) == slots


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load(str(path)).name == "mine"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("[12]", "[36]", "excluded_slots of mine is 36: the stream has 36 episodes"),
        ("kind: bump", "kind: wipe", "mine.yaml: events.0.kind is 'wipe'"),
        ("acme-billing-v1", "acme-billing-v9", "mine.yaml: world is 'acme-billing-v9'"),
        ("name: mine", "name: mine\ncolour: red", "mine.yaml: colour"),
        ('version: "2.0.0"', 'version: "2.0.0", rows: {a: {}}', "a bump changes no rows"),
        ("stream: payments-36", "stream: nowhere", "give a readable YAML file"),
        ("events:", "events: [", "give a readable YAML file"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(
    tmp_path: Path, before: str, after: str, says: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(before, after), encoding="utf-8")
    with pytest.raises(InvalidValue) as refused:
        load(str(path))
    assert says in str(refused.value)


def test_an_unknown_scenario_is_refused_with_the_names_of_the_known() -> None:
    with pytest.raises(InvalidValue, match="payments, undrifted"):
        load("nowhere")
