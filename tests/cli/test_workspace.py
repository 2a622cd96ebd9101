"""The commands about a shared workspace, as a person and a program use them, on real ledgers."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lapse.cli.main import app
from lapse.cli.stores import shown

RUN = CliRunner()
WHO = ("--principal", "A1", "--role", "planner", "--task", "trip")
FOR = (*WHO, "--purpose", "booking", "--accept", "desk")
DESK = ("--by", "A2", "--observer", "desk")


class Desk:
    """A workspace in a file, and somebody who types commands about it."""

    def __init__(self, path: Path | str) -> None:
        self.path = path

    def run(self, *words: str) -> Result:
        return RUN.invoke(app, [*words, "--store", str(self.path)])

    def json(self, *words: str, code: int = 0) -> Any:
        result = self.run(*words, "--format", "json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def record(self, name: str, text: str, *words: str) -> Any:
        return self.json("record", text, "--slot", name, "--id", name, *DESK, *words)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody left while a hotel and a pickup at it stood; each test goes on with a copy."""
    at = Desk(tmp_path_factory.mktemp("first") / "trip.db")
    owed = ("--obligation", "trip")
    at.record(
        "o", "Settle", "--kind", "obligation", *owed, "--required", "d_p", "--critical", "d_h"
    )
    at.record("f", "Open", "--kind", "frontier", *owed)
    at.record("h0", "Sunrise is booked", "--supports", "d_h")
    at.record("p0", "Pickup at Sunrise", "--supports", "d_p", "--assumes", "h0")
    at.record("e", "Sunrise keeps a late desk", "--kind", "experience", "--rests-on", "h0")
    assert at.json("depart", *WHO)["items"] == 4  # the experience is A2's
    return Path(at.path)


@pytest.fixture
def desk(first: Path, tmp_path: Path) -> Desk:
    """A copy of what they left."""
    copied = tmp_path / first.name
    copied.write_bytes(first.read_bytes())
    return Desk(copied)


def moved(desk: Desk) -> str:
    found = desk.json("supersede", "h0", "Riverside is booked", *DESK)
    assert found["status"] == "active"
    return str(found["id"])


def test_a_return_without_what_is_owed_says_what_is_missing_and_exits_with_1(desk: Desk) -> None:
    hotel = moved(desk)
    found = desk.json("return", *FOR, "--judge", "rules", "--cycle", "r1", code=1)
    assert (found["cycle"], found["outcome"], found["shown"]) == ("r1", "block", [])
    assert found["not_enough"] == ["o", "f", hotel]
    (missing,) = found["missing"]
    assert (missing["dependency"], missing["needed_by"]) == ("d_p", ["trip"])
    assert missing["last"]["reasons"] == ["premise_changed"]
    assert found["left_out"]["p0"] == {"reasons": ["premise_changed"], "by": hotel}
    assert found["unknown"] == [
        {"slot": "p0", "last": "p0", "reason": "premise_changed", "by": hotel}
    ]
    assert desk.json("why", "r1") == found


def test_what_was_missing_lets_the_agent_back_and_the_view_is_for_the_model(desk: Desk) -> None:
    hotel = moved(desk)
    desk.json("return", *FOR, "--judge", "rules", code=1)
    desk.json(
        "record", "Pickup at Riverside", "--slot", "p0", "--id", "p1", "--supports", "d_p", *DESK
    )
    found = desk.json("return", *FOR, "--judge", "rules", "--cycle", "r2")
    assert (found["outcome"], found["shown"]) == ("admitted", ["o", "f", hotel, "p1"])
    shown = desk.json("view", "r2", *FOR)
    assert [item["id"] for item in shown["view"]["items"]] == found["shown"]
    assert "Pickup at Riverside" in shown["brief"]
    assert "Sunrise" not in shown["brief"]
    assert shown["experience"] == []
    assert desk.run("view", "r2", *FOR).stdout.startswith("<return-view>\n")
    (member,) = desk.json("status")["members"]
    assert (member["principal"], member["presence"], member["cycle"]) == ("A1", "admitted", "r2")


def test_a_view_that_may_not_be_acted_on_is_not_shown(desk: Desk) -> None:
    desk.json("return", *FOR, "--judge", "rules", "--cycle", "r1")
    desk.json("record", "News", "--slot", "news", *DESK)
    assert desk.json("view", "r1", *FOR, code=1) == {"refused": ["epoch_mismatch"]}
    other = ("--principal", "A3", "--role", "planner", "--purpose", "booking", "--accept", "desk")
    assert "principal_mismatch" in desk.json("view", "r1", *other, code=1)["refused"]
    said = desk.run("view", "r1", *other)
    assert said.exit_code == 1
    assert "Sunrise" not in said.output


def test_where_nobody_looks_what_might_be_broken_is_left_out(desk: Desk) -> None:
    desk.json("record", "A flood near the station", "--slot", "news", *DESK)
    found = desk.json("return", *FOR, code=1)
    assert found["left_out"]["h0"]["reasons"] == ["unscanned"]
    said = desk.run("return", *FOR)
    assert "name who does with --judge" in said.stdout
    assert desk.json("return", *FOR, "--judge", "rules")["outcome"] == "admitted"


def test_nothing_is_shown_where_nobody_is_believed(desk: Desk) -> None:
    found = desk.json("return", *WHO, "--purpose", "booking", "--judge", "rules", code=1)
    assert (found["not_enough"], found["failures"][0]) == ([], "missing_obligation")
    assert found["left_out"]["h0"]["reasons"] == ["provenance_missing"]


def test_a_return_may_go_on_with_nothing_inherited(desk: Desk) -> None:
    moved(desk)
    found = desk.json("return", *FOR, "--judge", "rules", "--when-incomplete", "reset", code=1)
    assert (found["outcome"], found["shown"]) == ("reset", [])


def test_a_return_under_its_own_id_is_not_decided_twice(desk: Desk) -> None:
    first = desk.json("return", *FOR, "--judge", "rules", "--cycle", "r1", "--workload", "Book it")
    assert desk.json("return", *FOR, "--judge", "rules", "--cycle", "r1") == first
    assert first["workload"] == "Book it"


def test_looking_ahead_says_what_it_took(desk: Desk) -> None:
    moved(desk)
    nobody = desk.json("scan", *WHO)
    assert (nobody["answered"], nobody["complete"]) == (False, False)
    found = desk.json("scan", *WHO, "--judge", "rules")
    assert (found["answered"], found["complete"], found["spent"]["left"]) == (True, True, 0)
    assert "Asked" in desk.run("scan", *WHO, "--judge", "rules").stdout


def test_what_was_never_true_and_what_is_over_are_told_apart(desk: Desk) -> None:
    gone = desk.json("revoke", "h0", "--by", "A2", "--why", "a misprint")
    assert (gone["what"], gone["items"][0], gone["why"]) == ("revoked", "h0", "a misprint")
    assert "e" in gone["items"]  # it was learned from that
    over = desk.json("close", "p0", "--by", "A2")
    assert over["what"] == "closed"
    told = desk.json("why", "h0")
    assert told["fallen"]["reasons"] == ["revoked"]
    assert [notice["why"] for notice in told["notices"]] == ["a misprint"]
    assert "a misprint" in desk.run("why", "h0").stdout


def test_who_has_too_little_authority_may_dispute_only(desk: Desk) -> None:
    desk.record("c", "No smoking", "--kind", "constraint", "--authority", "user")
    refused = desk.run("revoke", "c", "--by", "A9", "--authority", "inference")
    assert refused.exit_code == 2
    assert "dispute the item" in refused.stderr
    assert desk.json("dispute", "c", "--by", "A9")["what"] == "disputed"
    assert desk.json("status")["disputed"] == ["c"]
    back = desk.json(
        "restore", "c", "--by", "A2", "--observer", "desk", "--looked-at", "the contract"
    )
    assert back == {"id": "c", "status": "active", "revision": 6}


def test_what_ended_is_said_again_in_a_new_item(desk: Desk) -> None:
    desk.json("close", "h0", "--by", "A2")
    said = desk.run("restore", "h0", *DESK).stdout
    new, _, rest = said.partition(" ")
    assert rest.startswith("says h0 again.\n")
    listed = {item["id"]: item["status"] for item in desk.json("items", "--all")["items"]}
    assert (listed["h0"], listed[new]) == ("evicted", "active")


def test_an_id_may_be_shortened_while_it_names_one_item(desk: Desk) -> None:
    item = desk.json("record", "Long", "--slot", "long", *DESK)["id"]
    assert desk.json("why", item[:10])["item"]["id"] == item
    assert desk.run("why", "nothing").exit_code == 2
    many = desk.run("revoke", "", "--by", "A2")
    assert many.exit_code == 2


def test_what_nobody_vouches_for_says_so(desk: Desk) -> None:
    said = desk.run("record", "Rumour", "--slot", "rumour", "--by", "A4")
    assert said.exit_code == 0
    assert "shown to nobody" in said.stdout


def test_tenants_of_one_ledger_do_not_see_each_other(desk: Desk) -> None:
    assert desk.json("items", "--tenant", "other")["items"] == []
    assert desk.json("status", "--tenant", "other")["members"] == []
    assert desk.run("why", "h0", "--tenant", "other").exit_code == 2


def test_the_key_is_made_for_its_owners_eyes_and_another_opens_nothing(desk: Desk) -> None:
    desk.json("return", *FOR, "--judge", "rules", "--cycle", "r1")
    path = Path(desk.path)
    key = path.with_name("trip.db.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    other = ("--key", str(path.with_name("other.key")))
    refused = desk.json("view", "r1", *FOR, *other, code=1)
    assert refused == {"refused": ["signature_invalid"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("return", *FOR, "--judge", "oracle"), "--judge is 'oracle'"),
        (("return", *FOR, "--judge", "openai:"), "--judge is 'openai:'"),
        (("return", *FOR, "--when-incomplete", "guess"), "--when-incomplete is 'guess'"),
        (("record", "x", "--slot", "x", "--by", "A2", "--kind", "fix"), "--kind is 'fix'"),
        (("record", "x", "--slot", "x", "--by", "A2", "--attributes", "[]"), "--attributes"),
        (("depart", "--principal", "", "--role", "planner"), "--principal is ''"),
        (("depart", *WHO), "absent"),
        (("return", "--principal", "A7", "--role", "r", "--purpose", "p"), "depart first"),
    ],
)
def test_what_cannot_be_done_is_explained(desk: Desk, words: tuple[str, ...], said: str) -> None:
    result = desk.run(*words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_ledger_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = Desk(tmp_path / "none.db").run("status")
    assert result.exit_code == 1
    assert "no ledger at" in result.stderr


def test_the_demonstration_of_a_return_is_found_by_its_name() -> None:
    result = RUN.invoke(app, ["demo", "return", "--format", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["second_return"]["outcome"] == "admitted"


def test_one_side_of_a_dispute_holds_by_who_looked_or_by_authority(desk: Desk) -> None:
    desk.json("record", "Rain", "--slot", "w", "--id", "w1", "--by", "A2", "--observer", "desk")
    desk.json("record", "Sun", "--slot", "w", "--id", "w2", "--by", "A4", "--observer", "desk")
    (dispute,) = desk.json("status")["disputes"]
    assert (dispute["slot"], dispute["sides"], dispute["stands"]) == ("w", ["w1", "w2"], "")
    assert "In dispute since revision 7: w, by w1, w2." in desk.run("status").stdout
    later = desk.run("resolve", "w2", "--by", "A4")
    assert later.exit_code == 2  # that it was said last is no ground
    decided = desk.run("resolve", "w1", *DESK, "--accept", "desk", "--why", "looked out")
    assert decided.exit_code == 0, decided.output
    assert "w1 is right" in decided.stdout
    standing = [i for i in desk.json("items")["items"] if i["record"]["slot"] == "w"]
    assert [item["record"]["content"]["text"] for item in standing] == ["Rain"]


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("postgresql://me:hush@db:5432/trips?password=hush", "postgresql://db:5432/trips"),
        ("postgresql://me:hu/sh@db/trips", "postgresql://db/trips"),
        ("sqlite:///a@b.db", "sqlite:///a@b.db"),
        ("trips@home.db", "trips@home.db"),
    ],
)
def test_who_connects_to_a_ledger_is_not_printed(url: str, printed: str) -> None:
    assert shown(url) == printed


@pytest.mark.postgres
@pytest.mark.slow
def test_a_workspace_that_machines_share_needs_a_key_that_is_named(
    postgres_url: str, tmp_path: Path
) -> None:
    at = Desk(postgres_url)
    owed = ("--obligation", "trip")
    at.record("o", "Settle", "--kind", "obligation", *owed, "--required", "d_h")
    at.record("f", "Open", "--kind", "frontier", *owed)
    at.record("h0", "Sunrise is booked", "--supports", "d_h")
    at.json("depart", *WHO)
    refused = at.run("return", *FOR, "--judge", "rules")
    assert refused.exit_code == 2
    assert "--key is None" in refused.stderr
    key = ("--key", str(tmp_path / "views.key"))
    assert (
        at.json("return", *FOR, *key, "--judge", "rules", "--cycle", "r1")["outcome"] == "admitted"
    )
    assert "Sunrise" in at.json("view", "r1", *FOR, *key)["brief"]
    assert "in postgresql:///postgres" in at.run("items").stdout
