"""Returns in STALE's shape: what a view says to the probes, and what finds the breaking pair."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse.admission import LONGEST_TEXT, Verdict
from lapse.errors import InvalidValue
from lapse.judges import AllPairs
from lapse.runtime import Judging
from lapse_bench.cli import app
from lapse_bench.returns.episodes import Admission, Budget, ReturnEpisode
from lapse_bench.returns.lapse_method import LapseMethod
from lapse_bench.returns.metrics import Probes
from lapse_bench.returns.registry import METHODS
from lapse_bench.returns.stale_returns import (
    STALE_BYTES,
    StaleEpisode,
    declared,
    own_episodes,
    probe,
    read_stale,
    truth_of,
)
from lapse_bench.returns.stale_running import opened, proposers_named, run_stale
from lapse_bench.returns.stand_in import StandIn


@cache
def episodes() -> tuple[StaleEpisode, ...]:
    return tuple(own_episodes())


def one(name: str) -> StaleEpisode:
    return next(episode for episode in episodes() if episode.uid == name)


@cache
def ran() -> dict[str, Any]:
    done = CliRunner().invoke(
        app,
        [
            "run",
            "stale-shaped",
            "--every",
            "5",
            "--most",
            "2",
            "--accuracies",
            "1,0.7",
            "--format",
            "json",
        ],
    )
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_agent_leaves_with_the_belief_and_is_away_for_the_change() -> None:
    assert len(episodes()) == 120
    for episode in episodes():
        bank = {claim.id for claim in episode.episode.bank}
        log = {claim.id for claim in episode.episode.log}
        assert episode.old <= bank
        assert episode.new <= log
        assert len(bank) + len(log) == 50
        assert {claim.at for claim in episode.episode.written if claim.id in episode.old} == {
            episode.episode.departed
        }


@pytest.mark.parametrize(
    ("old", "new", "passed"),
    [
        (True, True, (False, False, True)),
        (True, False, (False, False, False)),
        (False, True, (True, True, True)),
        (False, False, (True, False, False)),
    ],
)
def test_the_probes_look_for_the_belief_and_for_what_broke_it(
    old: bool,  # noqa: FBT001 - one of four cases
    new: bool,  # noqa: FBT001 - the same
    passed: tuple[bool, bool, bool],
) -> None:
    belief = one("pickup-car-early-plain").old if old else frozenset[str]()
    change = one("pickup-car-early-plain").new if new else frozenset[str]()
    shown = belief | change

    class Showing:
        name = "showing"

        def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
            del episode, budget
            return Admission(items=shown, calls=3, tokens=5)

    seen = probe(Showing(), one("pickup-car-early-plain"))
    assert seen.probes == Probes(*passed)
    assert (seen.others, seen.left_out, seen.calls, seen.tokens) == (48, 48, 3, 5)


def test_no_rule_about_slots_notices_what_nobody_linked() -> None:
    methods = ran()["methods"]
    for name in ("static", "checkpoint-replay", "last-writer-wins", "memstrata", "memtx"):
        assert (methods[name]["via"], methods[name]["iir"]) == (100, 0)
    assert methods["reset"]["iir"] == 0  # nothing to object with
    assert methods["lapse"]["iir"] > 50
    assert methods["lapse"]["left_out"] == 0
    assert methods["lapse, 0.7"]["iir"] < methods["lapse"]["iir"]
    assert methods["lapse, 0.7"]["left_out"] > 0


def test_a_result_says_what_it_rests_on() -> None:
    result = ran()
    assert {"commit", "date", "machine", "config", "data", "problems"} <= result.keys()
    assert result["data"] == {"name": "stale-shaped", "shipped": True, "stale": False}
    for name, told in result["methods"].items():
        rows = result["samples"][name]
        assert len(rows) == told["n"] == 24
        assert told["calls"] == sum(row[5] for row in rows)
        assert told["iir"] == pytest.approx(100 * sum(r[1] * r[2] for r in rows) / 24, abs=0.01)
        assert set(told["strata"]) == {"early", "middle", "late"}
        assert set(told["wordings"]) == {"cued", "plain"}


def test_more_names_find_more_and_cost_more() -> None:
    by: dict[str, list[dict[str, Any]]] = {}
    for row in ran()["proposers"]:
        by.setdefault(row["proposer"], []).append(row)
    assert [row["recall"] for row in by["shared slot"]] == [0.0] * 5
    (rule,) = by["declared premise, by rule"]
    reach = ran()["declared"]
    assert rule["recall"] == reach["methods"]["lapse"]["iir"]
    assert rule["pairs"] == 0
    for name in ("bm25", "embedded", "union of bm25 and embedded"):
        found = [(row["recall"], row["pairs"]) for row in by[name]]
        assert found == sorted(found)
        assert found[-1][0] > found[0][0] > 0
    (everything,) = by["all pairs"]
    assert everything["recall"] == 100
    union = by["union of bm25 and embedded"]
    assert all(row["pairs"] < everything["pairs"] for row in union)
    assert all(
        both["recall"] >= max(words["recall"], meaning["recall"])
        for both, words, meaning in zip(union, by["bm25"], by["embedded"], strict=True)
    )


def test_a_verifiers_false_alarms_stand_beside_what_it_finds() -> None:
    honest, poor = ran()["verifiers"]
    assert (honest["found"], honest["false_invalidation"]) == (100, 0)
    assert 0 < poor["false_invalidation"] < 50
    assert poor["other_pairs"] == honest["other_pairs"] > 100


def test_an_honest_verifier_over_all_pairs_loses_nothing() -> None:
    some = episodes()[::40]
    method = LapseMethod("lapse", Judging((AllPairs(),), StandIn(truth_of(episodes()))))
    told = run_stale(some, (method,))["methods"]["lapse"]
    assert (told["via"], told["iir"], told["ls"], told["left_out"]) == (100, 100, 100, 0)
    scans = sum(len(scan.later) for one in opened(some) for scan in one.scans)
    assert told["calls"] == scans


# Declared premises


def test_premises_are_declared_where_the_words_name_them() -> None:
    reach = ran()["declared"]
    assert (reach["declared"], reach["said_to_have_moved"], reach["n"]) == (18, 18, 24)
    methods = reach["methods"]
    assert methods["lapse"]["iir"] == methods["memtx"]["iir"] == 75
    assert methods["lapse"]["via"] == 100
    assert methods["lapse"]["calls"] == 0
    assert methods["memstrata"]["iir"] == 0
    said = [declared(episode) for episode in episodes()]
    assert sum(episode.premise is not None for episode in said) == 14 * 6
    moved = [e for e in said if e.premise is not None and e.premise.worth_after is not None]
    assert len(moved) == 14 * 6 - 3


def test_a_belief_without_premises_is_not_touched() -> None:
    episode = one("peanut-snack-late-cued")
    assert declared(episode) is episode


def test_a_premise_that_stands_again_carries_its_belief_again() -> None:
    episode = declared(one("cash-market-early-cued"))
    ours = METHODS["lapse"]
    assert not ours.admit(episode.episode, Budget()).items & episode.old
    change = next(claim for claim in episode.episode.log if claim.id == "change")
    again = replace(change, id="again", at=49, value="cash only", text="Cash again.")
    log = (*episode.episode.log, again)
    back = replace(episode.episode, log=log, store=episode.episode.store | {"again"})
    (belief,) = episode.old - {"premise"}
    assert {belief, "again"} <= ours.admit(back, Budget()).items
    # What MemTX revoked stays revoked.
    assert belief not in METHODS["memtx"].admit(back, Budget()).items


# Files


def written(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "records.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def record(**more: Any) -> dict[str, Any]:
    session = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]
    return {
        "uid": "u1",
        "type": "T2",
        "M_old": "old",
        "M_new": "new",
        "relevant_session_index": [1, 3],
        "haystack_session": [session] * 5,
        **more,
    }


def test_another_file_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, record())
    with pytest.raises(InvalidValue, match=f"data, bytes.*{STALE_BYTES}"):
        read_stale(path)
    (episode,) = read_stale(path, any_file=True)
    assert (episode.uid, episode.stratum, episode.wording) == ("u1", "early", "")
    assert (episode.old, episode.new) == ({"1.0"}, {"3.0"})


def test_a_file_of_the_right_size_is_held_against_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "zeros.json"
    with path.open("wb") as file:
        file.truncate(STALE_BYTES)  # a hole: it takes no room
    with pytest.raises(InvalidValue, match="data, SHA-256"):
        read_stale(path)


def test_only_propagated_changes_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, record(type="T1"), record(relevant_session_index=[12, 20]))
    with pytest.raises(InvalidValue, match="record 1"):
        read_stale(path, any_file=True)
    with pytest.raises(InvalidValue, match="at least one record of type T2"):
        read_stale(written(tmp_path, record(type="T1")), any_file=True)


@pytest.mark.parametrize(
    "more",
    [{"uid": 1}, {"relevant_session_index": [3, 1]}, {"haystack_session": "no"}],
)
def test_a_record_of_another_shape_is_told_which(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="record 0"):
        read_stale(written(tmp_path, record(**more)), any_file=True)


def test_no_list_and_no_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    with pytest.raises(InvalidValue, match="readable JSON"):
        read_stale(path, any_file=True)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidValue, match="JSON list"):
        read_stale(path, any_file=True)


def test_a_long_session_is_parted_between_words(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(2000))
    session = [{"role": "user", "content": words}]
    long = record(haystack_session=[session, *record()["haystack_session"][1:]])
    (episode,) = read_stale(written(tmp_path, long), any_file=True)
    parts = [claim.text for claim in episode.episode.bank if claim.at == 0]
    assert " ".join(parts).split() == words.split()
    assert all(len(part) <= LONGEST_TEXT for part in parts)
    assert len(parts) > 1


def test_a_file_of_ones_own_is_marked_as_that(tmp_path: Path) -> None:
    path = written(tmp_path, record())
    done = CliRunner().invoke(
        app,
        ["run", "stale-shaped", "--data", str(path), "--any-file", "--format", "json"],
    )
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)["data"]
    assert (data["shipped"], data["stale"], data["any_file"]) == (False, False, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--any-file",), "name the file with --data"),
        (("--proposer", "oracle"), "name union, bm25"),
        (("--accuracies", "2"), "share from 0.5 to 1"),
        (("--methods", "cupmem"), "methods is 'cupmem'"),
        (("--verifier", "oracle"), "name one of local, openai:MODEL"),
        (("--verifier", "openai:some"), "OPENAI_API_KEY"),
    ],
)
def test_a_wrong_command_is_told_what_to_do(arguments: tuple[str, ...], says: str) -> None:
    done = CliRunner(env={"OPENAI_API_KEY": None}).invoke(app, ["run", "stale-shaped", *arguments])
    assert isinstance(done.exception, InvalidValue)
    assert says in str(done.exception)


def test_people_get_tables_and_a_figure(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    arguments = ("--every", "20", "--accuracies", "1", "--proposer", "bm25", "--out", str(out))
    done = CliRunner().invoke(app, ["run", "stale-shaped", *arguments])
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text(encoding="utf-8"))["figures"] == ["result.png"]
    assert (tmp_path / "result.png").exists()
    assert "premises declared by hand" in done.stdout
    assert "all pairs" in done.stdout


def test_proposers_are_known_by_name() -> None:
    assert [len(proposers_named(name, 2)) for name in ("union", "bm25", "embedded")] == [2, 1, 1]
    assert proposers_named("all", 2)[0].name == "all-pairs"
    assert "most=2" in proposers_named("shared", 2)[0].name
    assert StandIn(lambda _: Verdict.STANDS).name == "stand-in, accuracy 1, seed 0"
