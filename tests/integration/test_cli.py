"""The command `lapse`, as a person and a program use it, on real ledgers in files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner, Result

import lapse
from lapse.cli.main import app
from lapse.testing.service import ScriptedService
from lapse.transports.http import Transport

RUN = CliRunner()
SECRET = "x" * 40


@dataclass(frozen=True)
class Ledger:
    """A ledger with three fixes, one of which was evicted."""

    path: Path
    evicted: str
    kept: str

    def run(self, *words: str) -> Result:
        return RUN.invoke(app, [*words, "--store", str(self.path)])

    def json(self, *words: str) -> Any:
        result = self.run(*words, "--format", "json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    path = tmp_path / "fixes.db"
    service = ScriptedService({"codes": {"a": "SUMMER", "b": "PARTNER", "c": "FOUNDER"}})
    with lapse.open(path) as memory:
        client = httpx2.Client(transport=Transport(memory, service), base_url="http://s")
        for key in "abc":
            client.post(f"/fix/codes/{key}", json={"key": key})
        service.reload("codes", {"a": "WINTER", "b": "PARTNER", "c": "FOUNDER"})
        client.post("/fix/codes/b", json={"key": "b", "value": "PARTNER"})
        by_status = {
            r.status: r.id for r in memory.records(live=False) if r.content["when"] != {"key": "c"}
        }
    return Ledger(path, by_status[lapse.Status.EVICTED], by_status[lapse.Status.ACTIVE])


def test_list_shows_what_lives_and_all_shows_what_ended(ledger: Ledger) -> None:
    assert len(ledger.json("memory", "list")["records"]) == 2
    statuses = sorted(r["status"] for r in ledger.json("memory", "list", "--all")["records"])
    assert statuses == ["active", "active", "evicted"]
    assert "2 records" in ledger.run("memory", "list").stdout


def test_why_tells_the_whole_story_with_reasons(ledger: Ledger) -> None:
    evicted = ledger.json("memory", "why", ledger.evicted)
    assert [c["reason"] for c in evicted["story"]] == ["learned", "awaiting_diff", "row_moved"]
    kept = ledger.json("memory", "why", ledger.kept)
    assert [c["reason"] for c in kept["story"]] == ["learned", "awaiting_diff", "row_unchanged"]
    assert "row_moved" in ledger.run("memory", "why", ledger.evicted).stdout


def test_an_id_may_be_shortened_while_it_names_one_record(ledger: Ledger) -> None:
    assert ledger.json("memory", "show", ledger.kept[:12])["id"] == ledger.kept
    assert ledger.run("memory", "show", "no-such-id").exit_code == 2


def test_purge_takes_the_content_away_everywhere_and_the_chain_still_holds(ledger: Ledger) -> None:
    assert ledger.json("memory", "purge", ledger.evicted, "--yes") == {"purged": 1}
    assert ledger.json("ledger", "verify")["trusted"] is True
    for file in ledger.path.parent.iterdir():
        assert b"SUMMER" not in file.read_bytes(), file
    assert ledger.json("memory", "show", ledger.evicted)["status"] == "purged"


def test_purge_by_issuer_takes_all_of_it(ledger: Ledger) -> None:
    assert ledger.json("memory", "purge", "--issuer", "http://s", "--yes") == {"purged": 3}
    assert ledger.json("memory", "list")["records"] == []


def test_purge_of_nothing_named_is_refused(ledger: Ledger) -> None:
    result = ledger.run("memory", "purge", "--yes")
    assert result.exit_code == 2
    assert "name records or a scope" in result.stderr
    assert len(ledger.json("memory", "list")["records"]) == 2


def test_purge_asks_first(ledger: Ledger) -> None:
    result = RUN.invoke(
        app, ["memory", "purge", ledger.kept, "--store", str(ledger.path)], input="n\n"
    )
    assert result.exit_code == 1
    assert len(ledger.json("memory", "list")["records"]) == 2


def test_an_exported_ledger_comes_back_the_same(ledger: Ledger, tmp_path: Path) -> None:
    ledger.json("memory", "purge", ledger.kept, "--yes")
    file, copy = tmp_path / "fixes.jsonl", tmp_path / "copy.db"
    count = ledger.json("memory", "export", str(file))["changes"]
    result = RUN.invoke(
        app, ["memory", "import", str(file), "--store", str(copy), "--format", "json"]
    )
    assert json.loads(result.stdout) == {"changes": count, "store": str(copy)}
    other = Ledger(copy, ledger.evicted, ledger.kept)
    assert other.json("memory", "list", "--all") == ledger.json("memory", "list", "--all")
    assert other.json("ledger", "verify") == ledger.json("ledger", "verify")
    again = RUN.invoke(app, ["memory", "import", str(file), "--store", str(copy)])
    assert again.exit_code == 2


@pytest.mark.parametrize("edit", ["SUMMER", "drop a line", "not json", "empty"])
def test_an_export_that_was_edited_is_not_imported(
    ledger: Ledger, tmp_path: Path, edit: str
) -> None:
    file, copy = tmp_path / "fixes.jsonl", tmp_path / "copy.db"
    ledger.json("memory", "export", str(file))
    lines = file.read_text().splitlines(keepends=True)
    edited = {
        "SUMMER": [line.replace('"row_moved"', '"asked_for"') for line in lines],
        "drop a line": [*lines[:2], *lines[3:]],
        "not json": [*lines, "}\n"],
        "empty": [],
    }[edit]
    file.write_text("".join(edited))
    result = RUN.invoke(app, ["memory", "import", str(file), "--store", str(copy)])
    assert result.exit_code == 1, result.output
    assert not copy.exists()


def test_an_anchored_ledger_that_was_put_back_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    key, anchor, old = tmp_path / "key", tmp_path / "anchor.json", tmp_path / "old.db"
    key.write_text(SECRET)
    ledger.json("memory", "export", str(tmp_path / "day1"))
    RUN.invoke(app, ["memory", "import", str(tmp_path / "day1"), "--store", str(old)])
    ledger.json("memory", "purge", ledger.kept, "--yes")
    anchored = ("--anchor", str(anchor), "--anchor-key", str(key))
    ledger.json("ledger", "anchor", str(anchor), "--anchor-key", str(key))
    assert ledger.json("ledger", "verify", *anchored)["unanchored_changes"] == 0
    ledger.json("memory", "list", *anchored)
    back = Ledger(old, ledger.evicted, ledger.kept)
    result = back.run("ledger", "verify", *anchored, "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)["reason"]) == (1, "rolled_back")
    assert back.run("memory", "list", *anchored).exit_code == 1
    key.write_text("y" * 40)
    forged = ledger.run("ledger", "verify", *anchored, "--format", "json")
    assert (forged.exit_code, json.loads(forged.stdout)["reason"]) == (1, "anchor_forged")


@pytest.mark.parametrize(
    "words", [("memory", "list"), ("ledger", "verify"), ("memory", "why", "x")]
)
def test_looking_at_a_ledger_that_is_not_there_makes_none(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "none.db"
    result = RUN.invoke(app, [*words, "--store", str(path)])
    assert result.exit_code == 1
    assert "there is no ledger" in result.stderr
    assert not path.exists()


def test_a_key_that_cannot_be_read_is_a_usage_error(ledger: Ledger, tmp_path: Path) -> None:
    result = ledger.run(
        "ledger", "verify", "--anchor", str(tmp_path / "a"), "--anchor-key", str(tmp_path / "k")
    )
    assert result.exit_code == 2
    assert "--anchor-key" in result.stderr


def test_an_unknown_demo_is_a_usage_error() -> None:
    result = RUN.invoke(app, ["demo", "no-such-demo"])
    assert result.exit_code == 2


DECLARED = """
tables:
  codes:
    version: "1.0.0"
    rows: {growth: SUMMER25}
"""


def test_serve_answers_until_it_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(DECLARED)
    command = [
        sys.executable,
        "-m",
        "lapse.cli",
        "serve",
        str(file),
        "--port",
        "0",
        "--format",
        "json",
    ]
    environment = {"LAPSE_OPERATOR_TOKEN": SECRET, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, env=environment, text=True
    ) as server:
        assert server.stdout is not None
        told = json.loads("".join(iter_document(server.stdout)))
        with urllib.request.urlopen(told["versions"]) as answer:  # noqa: S310 - loopback
            assert json.load(answer)["table_versions"] == {"codes": "1.0.0"}
        assert told["reloads"] is True
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def iter_document(lines: Any) -> Any:
    for line in lines:
        yield line
        if line.startswith("}"):
            return


def test_serving_a_file_that_declares_nothing_right_names_the_field(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text("tables: 7")
    result = RUN.invoke(app, ["serve", str(file), "--port", "0"])
    assert result.exit_code == 2
    assert "tables" in result.stderr
