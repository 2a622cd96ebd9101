"""`lapse memory forecast`, on a ledger whose tables moved as they were told to."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

import lapse
from lapse.assembly import open_store
from lapse.cli.forecast import forecast
from lapse.contract import DAY
from lapse.ledger import ChangeKind, Draft, Source
from lapse.testing import Scribe, SequenceIds, sample

APP = typer.Typer()
APP.command()(forecast)


def ledger(folder: Path) -> Path:
    """Twelve moves on twelve days of two tables that move together."""
    path = folder / "lapse.db"
    lapse.open(f"sqlite:///{path}").close()
    pen = Scribe(open_store(f"sqlite:///{path}", ids=SequenceIds("ledger")))
    pen.write(sample("a"))
    for turn in range(1, 13):
        for name in ("flow_rules", "limits"):
            for at, version in ((turn * 20 * DAY - DAY // 2, turn), (turn * 20 * DAY, turn + 1)):
                pen.carry_out(
                    Draft(
                        kind=ChangeKind.ADVANCED,
                        at=at,
                        reason="row_unchanged",
                        actor="contract",
                        source=Source.table("https://api.example", name),
                        version=f"v{version}",
                    )
                )
    pen.store.close()
    return path


def test_it_prints_chances_pairs_and_what_to_ask_about(tmp_path: Path) -> None:
    path = ledger(tmp_path)
    before = path.read_bytes()
    done = CliRunner().invoke(APP, ["--store", str(path), "--format", "json", "--stale-use", "99"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [table["moves"] for table in found["tables"]] == [12, 12]
    assert [row["moves"] for row in found["rows"]] == [0, 0]
    assert found["together"][0]["shared_days"] == 12
    assert {item["table"].rpartition("/")[2] for item in found["ask_about"]} == {
        "flow_rules",
        "limits",
    }
    table = CliRunner().invoke(APP, ["--store", str(path), "--stale-use", "99"])
    assert "move together: 12 days shared" in table.stdout
    assert "Worth asking about" in table.stdout
    assert path.read_bytes() == before


def test_an_empty_ledger_has_no_outlook(tmp_path: Path) -> None:
    path = tmp_path / "lapse.db"
    lapse.open(f"sqlite:///{path}").close()
    done = CliRunner().invoke(APP, ["--store", str(path)])
    assert "Nothing was ever watched" in done.stdout
