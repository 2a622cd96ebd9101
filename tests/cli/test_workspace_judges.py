"""`--judge openai:MODEL`: a return asks a model about what shares words, and keeps its rulings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from lapse.cli.main import app

RUN = CliRunner()
MODEL = "small-2026-01-01"
SECRET = "sk-secret-0123456789"  # noqa: S105 - of a service that lives for one test
WHO = ("--principal", "A1", "--role", "planner", "--task", "trip")
JUDGE = ("--judge", f"openai:{MODEL}")


class Model(BaseHTTPRequestHandler):
    """Speaks Chat Completions: a pickup does not survive another hotel; all else stands."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        self.asked.append(prompt)
        broken = "Pickup at Sunrise" in prompt and "Riverside" in prompt
        said = json.dumps({"verdict": "invalidates" if broken else "stands"})
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
        usage = {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59}
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps({**base, **chunk})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - so called
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    Model.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


def run(ledger: Path, *words: str, code: int = 0, key: str | None = SECRET) -> Any:
    environment = {"OPENAI_API_KEY": key}
    at = ("--store", str(ledger), "--format", "json")
    result = RUN.invoke(app, [*words, *at], env=environment)
    assert result.exit_code == code, result.output
    assert SECRET not in result.output
    return json.loads(result.stdout) if code < 2 else result.stderr


def test_a_model_finds_what_nobody_declared(tmp_path: Path, service: str) -> None:
    ledger = tmp_path / "trip.db"

    def say(name: str, text: str, *words: str) -> None:
        desk = ("--by", "A2", "--observer", "desk", "--slot", name, "--id", name)
        run(ledger, "record", text, *desk, *words)

    owed = ("--obligation", "trip", "--kind")
    say("trip/o", "Settle", *owed, "obligation", "--critical", "pickup")
    say("trip/f", "Open", *owed, "frontier")
    say("trip/pickup", "Pickup at Sunrise at 8:00", "--supports", "pickup")
    run(ledger, "depart", *WHO)
    say("trip/hotel", "We sleep at Riverside")
    asking = (*JUDGE, "--judge-url", service, "--accept", "desk")
    scanned = run(ledger, "scan", *WHO, *asking)
    assert (scanned["complete"], scanned["spent"]["calls"]) == (True, len(Model.asked))
    assert Model.asked
    found = run(ledger, "return", *WHO, "--purpose", "booking", *asking, code=1)
    assert found["left_out"]["trip/pickup"] == {"reasons": ["invalidated"], "by": "trip/hotel"}
    assert found["spent"]["calls"] == 0  # what was ruled while it was away is kept
    assert found["spent"]["reused"] == len(Model.asked)


def test_a_model_without_a_key_is_not_asked(tmp_path: Path, service: str) -> None:
    ledger = tmp_path / "trip.db"
    run(ledger, "depart", *WHO)
    asking = (*JUDGE, "--judge-url", service)
    said = run(ledger, "scan", *WHO, *asking, code=2, key=None)
    assert "OPENAI_API_KEY" in said
    assert Model.asked == []
