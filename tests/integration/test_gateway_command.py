"""`lapse gateway` and `lapse serve --metrics` as their own processes: sockets, signals, files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from lapse.cli.main import app

RUN = CliRunner()
TOKEN = "t" * 20

SHOP = """
tables:
  codes: {version: "1.0.0", rows: {growth: SUMMER25}}
policies:
  - id: code
    operation: POST /orders
    title: The code is wrong
    detail: Another one is on file.
    look_ups:
      assigned: {table: codes, key: {field: plan}}
    require: {field: code, equals: {look_up: assigned}}
    suggest: {type: ADD_CODE, parameters: {code: {look_up: assigned}}}
"""


def document(most: int) -> str:
    size = {"name": "size", "in": "query", "schema": {"type": "integer", "maximum": most}}
    paths = {"/orders": {"get": {"parameters": [size]}}}
    return json.dumps({"openapi": "3.1.0", "info": {"title": "Shop"}, "paths": paths})


@dataclass
class Running:
    """A command that serves."""

    process: subprocess.Popen[str]
    told: dict[str, Any]

    @property
    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.told["address"])


@contextmanager
def running(*words: str, told: str = "stdout") -> Generator[Running]:
    command = [sys.executable, "-m", "lapse.cli", *words, "--port", "0", "--format", "json"]
    environment = {"LAPSE_OPERATOR_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if told == "stderr" else None,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("}"):
                break
        try:
            yield Running(process, json.loads("".join(lines)))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)


def test_a_gateway_in_front_of_a_server_reads_its_document_again_on_a_signal(
    tmp_path: Path,
) -> None:
    shop, file = tmp_path / "shop.yaml", tmp_path / "openapi.json"
    shop.write_text(SHOP)
    file.write_text(document(100))
    words = ("gateway", "--openapi", str(file), "--metrics", "--service", "shop")
    with (
        running("serve", str(shop)) as behind,
        running(*words, "--upstream", behind.told["address"], told="stderr") as gateway,
        gateway.client as client,
    ):
        assert gateway.told["tables"] == {"shop": 1}
        assert (gateway.told["operations"], gateway.told["unsaid"]) == (1, {})
        before = client.get("/contract/versions").json()["table_versions"]
        # The server behind speaks the contract itself, and is not spoken over.
        answer = client.post("/orders", json={"plan": "growth"})
        assert answer.json()["table_versions"] == {"codes": "1.0.0"}
        assert answer.headers["contract-versions"] == '"codes";v="1.0.0"'
        assert len(answer.headers.get_list("date")) == 1

        file.write_text(document(50))
        gateway.process.send_signal(signal.SIGHUP)
        assert gateway.process.stderr is not None
        said = gateway.process.stderr.readline()
        assert said == "The document was read: 1 rows changed in 1 tables.\n"
        file.write_text("{}")
        gateway.process.send_signal(signal.SIGHUP)
        assert "was not taken" in gateway.process.stderr.readline()
        after = client.get("/contract/versions").json()["table_versions"]
        assert before.keys() == after.keys() == {"shop"}
        assert before != after
        counts = client.get("/contract/metrics").text.splitlines()
        assert 'lapse_rows_changed_total{table="shop"} 1.0' in counts


def test_a_gateway_looks_for_another_file_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(document(100))
    words = ("--openapi", str(file), "--upstream", "http://127.0.0.1:9", "--poll", "0.05")
    with running("gateway", *words, told="stderr") as gateway, gateway.client as client:
        assert client.get("/orders").status_code == 502
        other = tmp_path / "other.json"
        other.write_text(document(70))
        other.replace(file)
        assert gateway.process.stderr is not None
        assert "1 rows changed" in gateway.process.stderr.readline()


def test_a_server_counts_what_its_clients_do(tmp_path: Path) -> None:
    shop = tmp_path / "shop.yaml"
    shop.write_text(SHOP)
    words = ("serve", str(shop), "--metrics", "--alias-tables", "--client-header", "X-Agent")
    with running(*words) as server, server.client as client:
        headers = {"X-Agent": "ada"}
        assert client.post("/orders", json={"plan": "growth"}, headers=headers).status_code == 422
        right = {"plan": "growth", "code": "SUMMER25"}
        assert client.post("/orders", json=right, headers=headers).status_code == 200
        counts = client.get("/contract/metrics").text.splitlines()
    assert 'lapse_suggestions_followed_total{action="ADD_CODE",client="ada"} 1.0' in counts


def test_without_the_flag_there_is_no_such_place(tmp_path: Path) -> None:
    shop = tmp_path / "shop.yaml"
    shop.write_text(SHOP)
    with running("serve", str(shop)) as server, server.client as client:
        assert client.get("/contract/metrics").status_code == 404


@pytest.mark.parametrize(
    ("document_", "upstream", "field"),
    [(None, "http://x", "openapi"), ("{}", "http://x", "the document"), ("ok", "x", "upstream")],
)
def test_what_cannot_be_a_gateway_is_a_usage_error(
    tmp_path: Path, document_: str | None, upstream: str, field: str
) -> None:
    file = tmp_path / "openapi.json"
    if document_ is not None:
        file.write_text(document(1) if document_ == "ok" else document_)
    result = RUN.invoke(app, ["gateway", "--openapi", str(file), "--upstream", upstream])
    assert result.exit_code == 2
    assert field in result.stderr
