"""`lapse workspace`: tokens, a real server, and what is refused before anything is served."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import httpx2
from typer.testing import CliRunner, Result

import lapse
from lapse.cli.main import app

RUN = CliRunner()


def run(*words: str) -> Result:
    return RUN.invoke(app, ["workspace", *words])


def made(tokens: Path, *words: str) -> str:
    result = run("token", "--tokens", str(tokens), *words, "--format", "json")
    assert result.exit_code == 0, result.output
    return str(json.loads(result.stdout)["token"])


def document(lines: IO[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.startswith("}"):
            return


def test_tokens_are_shown_once_and_kept_as_digests_for_their_owners_eyes(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    first = made(tokens, "--principal", "A1", "--role", "planner", "--only-purpose", "booking")
    second = made(tokens, "--principal", "A2", "--role", "booker", "--observer", "desk")
    assert first != second
    text = tokens.read_text(encoding="utf-8")
    assert first not in text
    assert [entry["principal"] for entry in json.loads(text)["tokens"]] == ["A1", "A2"]
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
    said = run("token", "--tokens", str(tokens), "--principal", "A3", "--role", "guest")
    assert len(said.stdout.strip()) == 43
    assert "shown once" in said.stderr


def test_a_served_workspace_knows_its_callers_and_keeps_what_they_say(tmp_path: Path) -> None:
    tokens, ledger = tmp_path / "tokens.json", tmp_path / "trip.db"
    who = ("--principal", "A1", "--role", "planner", "--observer", "A1")
    mine = made(tokens, *who, "--task", "trip")
    theirs = made(tokens, *who, "--tenant", "other")
    words = ("--store", str(ledger), "--tokens", str(tokens), "--accept", "A1", "--judge", "rules")
    serve = [sys.executable, "-m", "lapse.cli", "workspace", "serve", *words]
    with subprocess.Popen(  # noqa: S603 - our own command
        [*serve, "--port", "0", "--format", "json"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        at = json.loads("".join(document(server.stdout)))["workspace"]

        def post(token: str, path: str, body: Any) -> httpx2.Response:
            headers = {"authorization": f"Bearer {token}"}
            return httpx2.post(f"{at}/{path}", json=body, headers=headers)

        owed = {"kind": "obligation", "obligation": "o", "required": ["c"]}
        for said in (
            {"text": "Settle", "slot": "o", **owed},
            {"text": "Open", "slot": "f", "kind": "frontier", "obligation": "o"},
            {"text": "Quiet rooms", "slot": "c", "supports": ["c"]},
        ):
            assert post(mine, "items", said).status_code == 201
        assert post(mine, "depart", {}).json()["items"] == 3
        assert post(theirs, "depart", {}).json()["items"] == 0
        assert post("x" * 43, "depart", {}).status_code == 401
        back = post(mine, "return", {"purpose": "booking", "cycle": "r1"}).json()
        assert (back["outcome"], len(back["shown"])) == ("admitted", 3)
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)
    with lapse.workspace(ledger, key=ledger.with_name("trip.db.key")) as workspace:
        assert [member.cycle for member in workspace.status().members] == ["r1"]


def test_nothing_is_served_to_nobody(tmp_path: Path) -> None:
    missing = run("serve", "--tokens", str(tmp_path / "none.json"), "--port", "0")
    assert missing.exit_code == 2
    assert "lapse workspace token" in missing.stderr
    readable = tmp_path / "tokens.json"
    made(readable, "--principal", "A1", "--role", "planner")
    readable.chmod(0o644)
    refused = run("serve", "--tokens", str(readable), "--port", "0")
    assert refused.exit_code == 2
    assert "chmod 600" in refused.stderr
    readable.chmod(0o600)
    readable.write_text('{"tokens": [{"sha256": "secret-of-mine"}]}', encoding="utf-8")
    broken = run("serve", "--tokens", str(readable), "--port", "0")
    assert broken.exit_code == 2
    assert "secret-of-mine" not in broken.output
    nowhere = run(
        "token", "--tokens", str(tmp_path / "no" / "t"), "--principal", "A", "--role", "r"
    )
    assert nowhere.exit_code == 1
    assert "cannot be written" in nowhere.stderr


def test_a_shared_database_needs_a_key_that_is_named(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    made(tokens, "--principal", "A1", "--role", "planner")
    refused = run("serve", "--tokens", str(tokens), "--store", "postgresql://x/y", "--port", "0")
    assert refused.exit_code == 2
    assert "--key" in refused.stderr
