"""A contract server as its own process: real sockets, real signals, real restarts."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from lapse.errors import InvalidValue
from lapse.server.run import run
from lapse.wire import read_changes, read_response

FILE = """
tables:
  codes:
    version: "1.0.0"
    rows:
      growth: {code: SUMMERSALE25}
      scale: {code: PARTNER20}
policies:
  - id: assigned-code
    operation: POST /v1/subscriptions
    title: The plan's assigned promotion code is missing
    detail: The plan has a code assigned to it, and the request carries another or none.
    look_ups:
      assigned: {table: codes, key: {field: plan}}
    require: {field: promotion_code, equals: {look_up: assigned, member: code}}
    suggest:
      type: ADD_PROMOTION_CODE
      parameters: {promotion_code: {look_up: assigned, member: code}}
"""
PROGRAM = """
import sys
from lapse.server.run import serve
serve(
    sys.argv[1], port=0, operator_token="operator", state_file=sys.argv[2],
    bound=lambda host, port: print(f"http://{host}:{port}", flush=True),
)
print("stopped", flush=True)
"""
BEARER = {"Authorization": "Bearer operator"}


@contextmanager
def served(folder: Path) -> Generator[tuple[httpx2.Client, subprocess.Popen[str]]]:
    file = folder / "service.yaml"
    file.write_text(FILE, encoding="utf-8")
    with subprocess.Popen(  # noqa: S603 - this interpreter, running the program above
        [sys.executable, "-c", PROGRAM, str(file), str(folder / "state.json")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            with httpx2.Client(base_url=process.stdout.readline().strip()) as http:
                yield http, process
        finally:
            process.kill()


@pytest.mark.requirement("C-RLD-08", "C-CHG-02")
def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    rotated = {"growth": {"code": "WINTERLAUNCH26"}, "scale": {"code": "PARTNER20"}}
    with served(tmp_path) as (http, process):
        refused = http.post("/v1/subscriptions", json={"plan": "growth"})
        (fix,) = read_response(refused.headers.raw, refused.content).envelope.suggestions
        assert fix.parameters == {"promotion_code": "SUMMERSALE25"}
        body = {"table": "codes", "rows": rotated}
        assert http.post("/contract/reload", json=body, headers=BEARER).status_code == 200
        versions = http.get("/contract/versions")
        process.kill()  # not asked to stop: what was answered is on the disk
        process.wait()
    with served(tmp_path) as (http, process):
        again = http.get("/contract/versions", headers={"If-None-Match": versions.headers["etag"]})
        assert again.status_code == 304
        since = {"table": "codes", "since": "1.0.0"}
        changes = read_changes(http.get("/contract/changes", params=since).content)
        assert (changes.complete, set(changes.rows)) == (True, {"growth"})
        refused = http.post("/v1/subscriptions", json={"plan": "growth"})
        (fix,) = read_response(refused.headers.raw, refused.content).envelope.suggestions
        assert fix.parameters == {"promotion_code": "WINTERLAUNCH26"}


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_open_requests_are_answered(
    tmp_path: Path, stop: signal.Signals
) -> None:
    with served(tmp_path) as (http, process):
        body = json.dumps({"plan": "growth"}).encode()
        head = f"POST /v1/subscriptions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        address = (http.base_url.host, http.base_url.port or 0)
        with socket.create_connection(address, timeout=30) as open_request:
            open_request.sendall(head.encode() + body[:3])
            # Answered after it: the open request has been taken up.
            assert http.get("/contract/versions").status_code == 200
            process.send_signal(stop)
            open_request.sendall(body[3:])
            assert open_request.recv(64).startswith(b"HTTP/1.1 422 ")
        process.wait(timeout=30)
        assert process.stdout is not None
        assert process.stdout.read() in ("stopped\n", "")


def test_clients_that_break_off_leave_the_server_as_it_was(tmp_path: Path) -> None:
    with served(tmp_path) as (http, _):
        address = (http.base_url.host, http.base_url.port or 0)
        head = b"POST /contract/reload HTTP/1.1\r\nhost: x\r\nauthorization: Bearer operator\r\n"
        for rest in (
            b"",
            b"content-length: 1000\r\n\r\n{",
            b"transfer-encoding: chunked\r\n\r\n5\r\n{",
        ):
            for _ in range(20):
                with socket.create_connection(address, timeout=30) as broken:
                    broken.sendall(head + rest)
        garbage = b"\x00\xff GET \r\n\r\n"
        with socket.create_connection(address, timeout=30) as broken:
            broken.sendall(garbage)
            assert broken.recv(64).startswith(b"HTTP/1.1 400 ")
        answer = http.get("/contract/versions")
        assert answer.json()["table_versions"] == {"codes": "1.0.0"}


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", 70_000), ("127.0.0.1", -1), ("::bad::", 0)]
)
def test_an_address_that_cannot_be_used(host: str, port: int) -> None:
    async def app(*_: object) -> None:
        raise AssertionError

    with pytest.raises(InvalidValue, match="port"):
        run(app, host=host, port=port)


def test_a_port_that_is_taken() -> None:
    async def app(*_: object) -> None:
        raise AssertionError

    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InvalidValue, match="free here"),
    ):
        run(app, port=taken.getsockname()[1])
