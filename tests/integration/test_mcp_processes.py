"""Real servers, real proxies and real clients, in processes that are killed and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from typer.testing import CliRunner

import lapse
from lapse.cli.main import app
from lapse.errors import InvalidValue
from lapse.transports.mcp import RememberingClient

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "mcp_shop.py"
FASTMCP_SHOP = Path(__file__).with_name("fastmcp_shop.py")
TRANSCRIPT = ROOT / "examples" / "mcp_transcript.py"
PLANS = ("growth", "scale")
RIGHT = {"growth": "SUMMER25", "scale": "PARTNER20"}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "fixes.db"


@contextmanager
def http_shop(script: Path = SHOP, *, port: int = 0, state: Path | None = None) -> Generator[Any]:
    """A shop over HTTP; gives its address and its process."""
    words = [sys.executable, str(script), *(["--state", str(state)] if state else [])]
    with subprocess.Popen(  # noqa: S603 - our own script
        [*words, "--http", str(port)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def stdio_shop(script: Path = SHOP, *words: str) -> list[str]:
    return [sys.executable, str(script), *words]


@asynccontextmanager
async def host(
    ledger: Path, *server: str, mode: str = "auto", consume: str = "brief", pid: Path | None = None
) -> AsyncGenerator[Client]:
    """An unmodified client that starts a proxy as its server."""
    proxy = [sys.executable, "-m", "lapse.cli", "mcp-proxy", "--store", str(ledger), "--quiet"]
    words = [*proxy, "--issuer", "shop", "--consume", consume, *server]
    if pid is not None:  # a shell says who it is, and becomes the proxy
        words = ["/bin/sh", "-c", f'echo $$ > "{pid}"; exec "$@"', "sh", *words]
    parameters = StdioServerParameters(command=words[0], args=words[1:])
    with anyio.fail_after(120):
        async with Client(stdio_client(parameters), mode=mode) as client:
            yield client


async def description(client: Client) -> str:
    tools = (await client.list_tools(cache_mode="bypass")).tools
    return next(str(tool.description) for tool in tools if tool.name == "place")


async def learn(client: Client) -> None:
    for plan in PLANS:
        assert (await client.call_tool("place", {"plan": plan})).is_error


async def works(client: Client, plan: str) -> bool:
    return not (await client.call_tool("place", {"plan": plan})).is_error


def story(ledger: Path) -> set[tuple[str, str, str]]:
    """Each record: its plan, its code, its status."""
    with lapse.open(ledger) as memory:
        return {
            (r.content["when"]["plan"], r.content["parameters"]["code"], r.status.value)
            for r in memory.records(live=False)
        }


async def test_over_stdio_a_fix_outlives_the_server_and_the_proxy(
    ledger: Path, tmp_path: Path
) -> None:
    shop = ("--", *stdio_shop(SHOP, "--state", str(tmp_path / "state.json")))
    async with host(ledger, *shop, mode="legacy") as client:
        await learn(client)
    async with host(ledger, *shop, consume="apply") as client:
        assert client.protocol_version == "2026-07-28"
        assert [await works(client, plan) for plan in PLANS] == [True, True]
        await client.call_tool("rotate", {"plan": "growth", "code": "WINTER26"})
        assert [await works(client, plan) for plan in PLANS] == [False, True]
    assert story(ledger) == {
        ("growth", "SUMMER25", "evicted"),
        ("growth", "WINTER26", "active"),
        ("scale", "PARTNER20", "active"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http_the_server_is_killed_and_comes_back(
    ledger: Path, tmp_path: Path, mode: str
) -> None:
    state = tmp_path / "state.json"
    with http_shop(state=state) as (url, process):
        port = int(url.split(":")[2].split("/")[0])
        async with host(ledger, "--url", url, mode=mode) as client:
            await learn(client)
            process.kill()
            process.wait()
            with pytest.raises(MCPError):
                await client.call_tool("place", {"plan": "growth"})
    with http_shop(port=port, state=state) as (again, _):
        assert again == url
        async with Client(url) as operator:
            await operator.call_tool("rotate", {"plan": "growth", "code": "WINTER26"})
        async with host(ledger, "--url", url, mode=mode) as client:
            listed = await description(client)
            assert "PARTNER20" in listed
            assert "SUMMER25" not in listed
    assert story(ledger) == {("growth", "SUMMER25", "evicted"), ("scale", "PARTNER20", "active")}


@pytest.mark.slow
async def test_one_session_outlives_a_restart_of_a_server_without_sessions(
    ledger: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    with http_shop(state=state) as (url, process):
        async with host(ledger, "--url", url, consume="apply") as client:
            await learn(client)
            process.kill()
            process.wait()
            port = int(url.split(":")[2].split("/")[0])
            with http_shop(port=port, state=state):
                assert [await works(client, plan) for plan in PLANS] == [True, True]


@pytest.mark.slow
async def test_a_proxy_that_is_killed_has_kept_what_it_learned(
    ledger: Path, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    with http_shop() as (url, _):
        async with host(ledger, "--url", url, pid=pid) as client:
            await learn(client)
            os.kill(int(pid.read_text()), signal.SIGKILL)
            with pytest.raises(MCPError):
                await client.call_tool("place", {"plan": "growth"})
        async with host(ledger, "--url", url, consume="apply") as client:
            assert [await works(client, plan) for plan in PLANS] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("script", [SHOP, FASTMCP_SHOP], ids=["sdk", "fastmcp"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("carrier", ["stdio", "http"])
async def test_a_remembering_client_learns_and_unlearns_one_row(
    ledger: Path, script: Path, mode: str, carrier: str
) -> None:
    with http_shop(script) as (url, _), lapse.open(ledger) as memory, anyio.fail_after(120):
        words = stdio_shop(script)
        server: Any = StdioServerParameters(command=words[0], args=words[1:])
        async with Client(url if carrier == "http" else server, mode=mode) as client:
            agent = RememberingClient(memory, client)
            assert agent.issuer == url or agent.issuer.startswith("stdio:python")
            for plan in PLANS:
                assert (await agent.call_tool("place", {"plan": plan})).is_error
            assert '"code": "SUMMER25"' in agent.brief("place", {"plan": "growth"})
            await agent.call_tool("rotate", {"plan": "growth", "code": "WINTER26"})
            assert agent.fixes("place", {"plan": "growth"}) == ()
            [kept] = agent.fixes("place", {"plan": "scale"})
            done = await agent.call_tool("place", {"plan": "scale", **kept.parameters})
            assert not done.is_error


@pytest.mark.slow
async def test_arguments_are_prepared_by_whoever_wants_to(ledger: Path) -> None:
    words = stdio_shop()
    server = StdioServerParameters(command=words[0], args=words[1:])

    with lapse.open(ledger) as memory, anyio.fail_after(120):
        async with Client(server) as client:
            plain = RememberingClient(memory, client)
            await plain.call_tool("place", {"plan": "growth"})

            async def prepare(tool: str, arguments: Any) -> Any:
                for fix in plain.fixes(tool, arguments):
                    arguments = arguments | fix.parameters
                return arguments

            prepared = RememberingClient(memory, client, prepare=prepare)
            assert await prepared.refresh()
            assert not (await prepared.call_tool("place", {"plan": "growth"})).is_error


@pytest.mark.slow
def test_a_proxy_ends_when_its_server_does_and_answers_what_was_open(ledger: Path) -> None:
    script = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['method'] == 'tools/call':\n"
        "        sys.exit(3)\n"
        "    answer = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},\n"
        "              'serverInfo': {'name': 'brittle', 'version': '1'}}\n"
        "    if message['method'] == 'initialize':\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': answer}),\n"
        "              flush=True)\n"
    )
    proxy = [sys.executable, "-m", "lapse.cli", "mcp-proxy", "--store", str(ledger)]
    words = [*proxy, "--", sys.executable, "-c", script]
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "host", "version": "1"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": "one", "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": {"name": "x"}},
    ]
    with subprocess.Popen(  # noqa: S603 - our own command
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        answers = [json.loads(line) for line in process.stdout]  # to the end: the host stays
        said = process.stderr.read()
        assert process.wait(timeout=60) == 1
    assert [answer["id"] for answer in answers] == ["one", "two"]
    assert answers[1]["error"]["message"] == "Connection closed"
    assert "lapse: the server ended" in said


@pytest.mark.slow
def test_the_transcript_shows_what_it_says() -> None:
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-W", "error", str(TRANSCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for mode in done.stdout.split("== lapse mcp-proxy --consume ")[1:]:
        first, second = mode.split("Second episodes")
        second, third = second.split("The table rotates")
        assert [part.count("refused:") for part in (first, second, third)] == [2, 0, 1]
        assert [part.count("done:") for part in (first, second, third)] == [2, 2, 2]
        assert mode.count("evicted") == 1
        assert re.search(r"growth: SUMMER25  evicted  \(learned -> .*row_moved\)", mode)
        assert re.search(r"scale: PARTNER20  active  \(learned -> .*row_unchanged.*\)", mode)


# -- the command line ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "name the server by a command after -- or by --url"),
        (["--url", "http://host.example", "--", "cmd"], "one of the two"),
        (["--url", "host.example"], "pass an address"),
        (["--consume", "all", "--", "cmd"], "pick one of watch, brief, apply"),
        (["--allow", "amount", "--", "cmd"], "pass --consume apply"),
        (["--header", "nothing", "--url", "http://host.example"], "pass NAME: VALUE"),
    ],
)
def test_a_wrong_call_says_what_to_pass(tmp_path: Path, words: list[str], complaint: str) -> None:
    store = ["--store", str(tmp_path / "x.db")]
    result = CliRunner().invoke(app, ["mcp-proxy", *store, *words])
    assert result.exit_code == 2, result.output
    assert complaint in result.stderr
    assert "Traceback" not in result.output


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "x.db")]
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "lapse.cli", "mcp-proxy", *store, "--", "/no/such/command"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2, done.stderr
    assert "name a program that can be started" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_client_that_does_not_tell_its_server_needs_an_issuer(tmp_path: Path) -> None:
    with lapse.open(tmp_path / "x.db") as memory:
        client = Client(stdio_client(StdioServerParameters(command="x")))
        with pytest.raises(InvalidValue, match="name the server"):
            RememberingClient(memory, client)
        assert RememberingClient(memory, client, issuer="shop").issuer == "shop"
