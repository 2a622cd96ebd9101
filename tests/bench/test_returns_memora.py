"""Memora as return episodes: counts against the source, and what a session comes to."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lapse.errors import InvalidValue
from lapse_bench.returns import shipped as files
from lapse_bench.returns.memora import (
    DEPARTURES,
    Memora,
    MemoraEpisode,
    episodes_of,
    links_found,
    read_memora,
    stating_session,
    stripped,
)
from lapse_bench.returns.memora_claims import (
    World,
    evidence_of,
    facts_forgotten,
    facts_needed,
    forgotten_items,
    topics_of,
)

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "memora"


@cache
def data() -> Memora:
    return read_memora()


@cache
def episodes() -> tuple[MemoraEpisode, ...]:
    return tuple(episodes_of(data()))


def session(number: int, kind: str, operation: str | None, **details: Any) -> dict[str, Any]:
    return {
        "kind": "session",
        "persona": "p",
        "session_id": number,
        "session_type": kind,
        "operation": operation,
        "operation_details": details,
    }


def likes(number: int, operation: str, item: str, **more: str) -> dict[str, Any]:
    told = {"item": item, "preference": "like", "subcategory": "actors", **more}
    return session(number, "preference", operation, **told)


def question(needed: list[tuple[str, int]], lost: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "kind": "question",
        "persona": "p",
        "question_kind": "recommending",
        "question_id": "pref_movies_actors_9",
        "question": "A film with actors I like?",
        "memory_evidence": {"likes": [{"item": name, "session_id": at} for name, at in needed]},
        "forgetting_evidence": {
            "forgotten_items": [{"value": name, "session_id": at} for name, at in lost]
        },
    }


def written(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "weekly.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_operations_are_as_many_as_the_source_has() -> None:
    found: dict[str, Counter[str | None]] = {"weekly": Counter(), "monthly": Counter()}
    for name, world in data().worlds.items():
        period = name.split("/", maxsplit=1)[0]
        found[period].update(world.operation(number) for number in world.sessions)
    assert found["weekly"] == {"add": 703, "update": 136, "delete": 193, None: 519}
    assert found["monthly"] == {"add": 2371, "update": 583, "delete": 788, None: 2408}
    assert len(data().worlds) == 20
    assert len(data().questions) == 300


def test_every_reference_to_a_change_is_linked() -> None:
    # 18 point at a session that adds or says nothing, all of them about dates that went by.
    assert links_found(data()) == {"references": 1037, "changes": 1019, "linked": 1019}


def test_every_link_is_a_fact_that_the_session_ended() -> None:
    matched = 0
    for name, asked in data().questions:
        found = facts_forgotten(data().worlds[name], asked)
        ends = Counter(until for spans in found.values() for _, until in spans)
        named = Counter(item["session_id"] for item in forgotten_items(asked) if "value" in item)
        assert ends == named
        matched += ends.total()
    assert matched == 1019


def test_documents_come_out_as_the_source_has_them() -> None:
    seen = 0
    for name, asked in data().questions:
        content: dict[str, str | int | list[str]] | None = evidence_of(asked).get("content_data")
        if content is None:
            continue
        wanted = {
            (field, part if isinstance(part, str) else json.dumps(part))
            for field, value in content.items()
            for part in (value if isinstance(value, list) else [value])
        }
        needed = facts_needed(data().worlds[name], asked)
        assert {(attribute.split("/")[0], value) for _, attribute, value in needed} == wanted
        seen += 1
    assert seen == 72


def test_a_week_and_a_month_make_267_episodes() -> None:
    by = Counter(one.departure for one in episodes())
    assert by == {25: 95, 50: 93, 75: 79}
    assert Counter(one.departure for one in episodes() if one.old_valid) == {25: 56, 50: 60, 75: 61}
    newly = [one for one in episodes() if one.old_valid < len(one.answers.valid)]
    assert Counter(one.departure for one in newly) == {25: 76, 50: 78, 75: 65}
    assert sum(len(one.answers.stale) for one in episodes()) == 1063
    assert sum(one.crossing for one in episodes()) == 533
    assert len({one.episode.id for one in episodes()}) == 267


def test_the_rule_by_sessions_finds_nearly_the_same_questions() -> None:
    # The latest earlier session about an item need not be the one that said the value: an element
    # that was in a document from its beginning is taken for later, and twelve episodes are lost.
    counts: Counter[int] = Counter()
    for name, asked in data().questions:
        world = data().worlds[name]
        every = [item["session_id"] for item in forgotten_items(asked)]
        ended: list[int] = [one for one in every if world.operation(one) in {"update", "delete"}]
        for departure in DEPARTURES:
            left = world.session_at(departure)
            stated = [(stating_session(world, one), one) for one in ended]
            counts[departure] += any(a is not None and a <= left < b for a, b in stated)
    assert counts == {25: 89, 50: 88, 75: 78}


def test_what_holds_and_what_does_not_is_in_the_episode() -> None:
    for one in episodes():
        stated = {claim.fact for claim in one.episode.written if claim.does == "state"}
        assert one.answers.valid | one.answers.stale <= stated
        assert one.answers.valid
        assert all(claim.at <= one.episode.departed for claim in one.episode.bank)
        departed, returned = one.episode.departed, one.episode.returned
        assert all(departed < claim.at < returned for claim in one.episode.log)


def test_a_value_that_leaves_its_slot_is_named_or_not() -> None:
    memora = Memora(
        {
            "weekly/p": World(
                [
                    likes(1, "add", "Joan Crawford"),
                    likes(2, "add", "Cary Grant"),
                    likes(
                        3,
                        "update",
                        "Grace Kelly",
                        update_type="value_update",
                        old_item="Joan Crawford",
                    ),
                    session(4, "no_memory", None),
                ]
            )
        },
        (("weekly/p", question([("Grace Kelly", 3), ("Cary Grant", 2)], [("Joan Crawford", 3)])),),
    )
    named = [one for one in episodes_of(memora) if one.departure == 50]
    assert [(one.old_valid, one.crossing) for one in named] == [(1, 1)]
    (log,) = named[0].episode.log
    assert log.supersedes == (named[0].episode.bank[0].id,)
    assert named[0].answers.stale == {("actors/Joan Crawford", "preference", "like")}
    unnamed = [one for one in episodes_of(memora, links="unnamed") if one.departure == 50]
    assert unnamed[0].episode.log[0].supersedes == ()


def test_what_was_lost_and_said_again_is_not_stale() -> None:
    world = World(
        [
            likes(1, "add", "Joan Crawford"),
            likes(2, "delete", "Joan Crawford"),
            likes(3, "add", "Joan Crawford"),
            session(4, "no_memory", None),
        ]
    )
    asked = question([("Joan Crawford", 3)], [("Joan Crawford", 2)])
    assert list(episodes_of(Memora({"w": world}, (("w", asked),)))) == []


def test_saying_again_what_stands_ends_nothing() -> None:
    world = World([likes(1, "add", "Joan Crawford"), likes(2, "add", "Joan Crawford")])
    (standing,) = world.standing(2, topics_of(question([], [])))
    assert standing.at == 1


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["{"], "line 1 is '{': write one JSON object a line"),
        ([{"kind": "session"}], "row 1, persona"),
        ([{"kind": "note", "persona": "p"}], "row 1, kind is 'note': write session or question"),
        ([session(1, "goal", None)], "give sessions and questions"),
        ([{**session(1, "goal", None), "session_id": "1"}], "session_id is '1'"),
        ([{**session(1, "goal", None), "operation": "move"}], "operation is 'move'"),
        (
            [{**session(1, "goal", "add"), "operation_details": None}],
            "operation_details is None: write an object",
        ),
        ([session(1, "goal", None), {**question([], []), "persona": "q"}], "weekly/q"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, rows: list[Any], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        read_memora(written(tmp_path, *rows))


def test_a_folder_of_files_reads_like_the_shipped_file(tmp_path: Path) -> None:
    rows = [row for row in files.rows_of(files.shipped("memora")) if row["period"] == "weekly"]
    for row in rows:
        del row["period"]
    written(tmp_path, *rows)
    weekly = [one for one in episodes() if int(one.episode.id.split("-")[1]) < 150]
    assert list(episodes_of(read_memora(tmp_path))) == weekly


def test_changed_data_is_not_what_ships(tmp_path: Path) -> None:
    rows = files.rows_of(files.shipped("memora"))
    (tmp_path / "memora.jsonl.gz").write_bytes(files.packed(rows[:-1]))
    with pytest.raises(InvalidValue, match="install lapse-bench again"):
        files.shipped("memora", folder=tmp_path)


@pytest.mark.slow
def test_what_ships_is_the_source_without_its_conversations() -> None:
    if not BESIDE.is_dir():
        pytest.skip("the full data are not beside the checkout")
    rows = [
        (period, row)
        for period in ("weekly", "monthly")
        for row in files.rows_of(BESIDE / f"{period}.jsonl.gz")
    ]
    assert files.packed(stripped(rows)) == files.shipped("memora").read_bytes()
