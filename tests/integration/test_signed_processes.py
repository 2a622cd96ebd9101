"""Services that sign, in processes of their own, which are killed and come back.

Over HTTP it is `lapse serve` and `lapse gateway` with `--sign` and `--alias`; over MCP it is a
server made of the library's parts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from typer.testing import CliRunner

import lapse
from lapse.cli.main import app
from lapse.contract import Terms
from lapse.runtime import Memory
from lapse.signing.key_files import read_signer, write_key
from lapse.transports.http import Transport
from lapse.transports.mcp import RememberingClient

RUN = CliRunner()
ISSUER = "https://shop.example"
TOKEN = "t" * 20
MCP_SHOP = Path(__file__).with_name("signed_mcp_shop.py")
SHOP = """
tables:
  secret_codes: {version: "1.0.0", rows: {growth: SUMMER25, scale: PARTNER20}}
policies:
  - id: code
    operation: POST /orders
    title: Another code is on file in secret_codes
    detail: Look at secret_codes.
    look_ups:
      assigned: {table: secret_codes, key: {field: plan}}
    require: {field: code, equals: {look_up: assigned}}
    suggest: {type: ADD_CODE, parameters: {code: {look_up: assigned}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(SHOP)
    secret = tmp_path / "alias.secret"
    secret.write_text("a secret of many characters\n")
    secret.chmod(0o600)
    write_key(tmp_path / "stamp.key", "2026")
    return tmp_path


@contextmanager
def running(*words: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
    """A command that serves; gives its address. It is killed at the end, not asked to stop."""
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "lapse.cli", *words, "--port", "0", "--format", "json"],
        stdout=subprocess.PIPE,
        env={"LAPSE_OPERATOR_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
        text=True,
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:  # to its end, if it ends before it serves
            lines.append(line)
            if line == "}\n":
                break
        try:
            yield json.loads("".join(lines))["address"], process
        finally:
            process.kill()


def serving(folder: Path, key: str = "stamp.key") -> list[str]:
    signs = ["--sign", str(folder / key), "--issuer", ISSUER, "--epoch", str(folder / "epoch")]
    keeps = ["--state", str(folder / "state.json"), "--alias", str(folder / "alias.secret")]
    return ["serve", str(folder / "shop.yaml"), *signs, *keeps]


def remembering(
    folder: Path, issuer: str = ISSUER, *, pinned: dict[str, bytes] | None = None
) -> Memory:
    """A memory that takes nothing unsigned from this issuer: of pinned keys, or of the first."""
    terms = {} if pinned is None else {issuer: Terms(issuer=issuer, keys=pinned)}
    trust = lapse.trust(folder / "memory.trust", terms=terms)
    return lapse.open(folder / "memory.db", trust=trust)


def ordered(memory: Memory, base: str, **order: str) -> httpx2.Response:
    with httpx2.Client(transport=Transport(memory, issuer=ISSUER)) as http:
        return http.post(f"{base}/orders", json=order)


def codes(memory: Memory, plan: str) -> list[Any]:
    fixes = memory.fixes("POST /orders", {"plan": plan}, issuer=ISSUER)
    return [fix.parameters["code"] for fix in fixes]


def reload(base: str, **rows: str) -> None:
    asked = {"table": "secret_codes", "rows": rows}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert httpx2.post(f"{base}/contract/reload", json=asked, headers=headers).status_code == 200


def test_a_declared_service_signs_over_kills_and_names_no_table(folder: Path) -> None:
    public = read_signer(folder / "stamp.key").public
    pinned = {"2026": public}
    with running(*serving(folder)) as (base, _), remembering(folder, pinned=pinned) as memory:
        for plan in ("growth", "scale"):
            refused = ordered(memory, base, plan=plan)
            assert "secret_codes" not in f"{refused.text}{refused.headers}"
        assert (codes(memory, "growth"), codes(memory, "scale")) == (["SUMMER25"], ["PARTNER20"])
    with running(*serving(folder)) as (base, _), remembering(folder, pinned=pinned) as memory:
        reload(base, growth="WINTER26", scale="PARTNER20")
        assert ordered(memory, base, plan="scale", code="PARTNER20").status_code == 200
        assert (codes(memory, "growth"), codes(memory, "scale")) == ([], ["PARTNER20"])
        assert "untrusted" not in memory.counters
    assert (folder / "epoch").exists()


@pytest.mark.slow
def test_another_key_under_the_same_name_is_not_believed(folder: Path) -> None:
    with running(*serving(folder)) as (base, _), remembering(folder) as memory:
        ordered(memory, base, plan="scale")
    write_key(folder / "other.key", "2026")
    with running(*serving(folder, "other.key")) as (base, _), remembering(folder) as memory:
        head = memory.store.head()
        reload(base, growth="WINTER26", scale="STOLEN")
        assert ordered(memory, base, plan="scale").status_code == 422
        assert memory.counters["untrusted"] > 0
        assert memory.store.head() == head


@pytest.mark.slow
def test_a_gateway_signs_and_names_no_table(folder: Path) -> None:
    size = {"name": "size", "in": "query", "schema": {"type": "integer", "maximum": 50}}
    paths = {"/orders": {"get": {"parameters": [size]}}}
    document = {"openapi": "3.1.0", "info": {"title": "Hidden"}, "paths": paths}
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    words = ["--openapi", str(file), "--upstream", "http://127.0.0.1:9", "--issuer", ISSUER]
    signs = ["--sign", str(folder / "stamp.key"), "--alias", str(folder / "alias.secret")]
    with running("gateway", *words, *signs) as (base, _):
        versions = httpx2.get(f"{base}/contract/versions")
    assert "contract-stamp" in versions.headers
    assert f'iss="{ISSUER}"' in versions.headers["contract-stamp"]
    assert "hidden" not in f"{versions.text}{versions.headers}".lower()
    assert (folder / "stamp.key.epoch").exists()


# -- what cannot be signed with --------------------------------------------------------------------


def told(*words: str) -> tuple[int, str]:
    result = RUN.invoke(app, list(words))
    return result.exit_code, result.stderr + result.stdout


@pytest.mark.parametrize("kind", ["serve", "gateway"])
def test_keys_that_cannot_be_used_are_told_and_never_shown(folder: Path, kind: str) -> None:
    file = folder / "openapi.json"
    file.write_text('{"openapi": "3.1.0", "info": {"title": "T"}, "paths": {}}')
    of = {
        "serve": ["serve", str(folder / "shop.yaml")],
        "gateway": ["gateway", "--openapi", str(file), "--upstream", "http://127.0.0.1:9"],
    }[kind]
    key, secret = folder / "stamp.key", folder / "alias.secret"
    hidden = json.loads(key.read_text())["d"]
    sign = ["--sign", str(key)]
    open_, broken = folder / "open.key", folder / "broken.key"
    open_.write_text(key.read_text())
    open_.chmod(0o644)
    broken.write_text(key.read_text().replace('"d"', '"e"'))
    broken.chmod(0o600)
    short, bytes_ = folder / "short.secret", folder / "bytes.secret"
    short.write_text("s3cr3t")
    bytes_.write_bytes(b"\xff" * 40)
    for one in (short, bytes_):
        one.chmod(0o600)
    cases: list[tuple[list[str], int, str]] = [
        (["--sign", str(open_), "--issuer", ISSUER], 2, "chmod 600"),
        (["--sign", str(broken), "--issuer", ISSUER], 1, "holds no private Ed25519 key"),
        (["--sign", str(folder / "none"), "--issuer", ISSUER], 1, "cannot be used"),
        ([*sign, "--port", "0"], 2, "--issuer"),
        ([*sign, "--host", "0.0.0.0"], 2, "--issuer"),  # noqa: S104 - refused
        ([*sign, "--issuer", f"{ISSUER}/mcp"], 2, "leave out what follows the host"),
        ([*sign, "--issuer", "shop"], 2, "write an origin"),
        (["--issuer", ISSUER], 2, "--sign"),
        (["--epoch", str(folder / "epoch")], 2, "--sign"),
        (["--alias", str(short)], 2, "at least 16"),
        (["--alias", str(bytes_)], 1, "is not text"),
        (["--alias", str(folder / "none")], 1, "cannot be used"),
    ]
    secret.chmod(0o640)
    cases.append((["--alias", str(secret)], 2, "chmod 600"))
    for words, code, said in cases:
        found, text = told(*of, *words)
        flat = " ".join(text.split())
        assert (found, said in flat) == (code, True), (words, found, flat)
        assert hidden not in text
        assert "s3cr3t" not in text


# -- over MCP --------------------------------------------------------------------------------------


@contextmanager
def mcp_shop(folder: Path, key: str, port: int = 0) -> Generator[str]:
    words = [str(folder / key), str(folder), str(port)]
    with subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, str(MCP_SHOP), *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def told_over_mcp(memory: Memory, url: str, *calls: tuple[str, dict[str, str]]) -> list[bool]:
    """Whether each call was refused."""
    with anyio.fail_after(120):
        async with Client(url) as client:
            agent = RememberingClient(memory, client, issuer=f"{ISSUER}/mcp")
            return [bool((await agent.call_tool(name, call)).is_error) for name, call in calls]


def known(memory: Memory, plan: str) -> list[Any]:
    fixes = memory.fixes("place", {"plan": plan}, issuer=f"{ISSUER}/mcp")
    return [fix.parameters["code"] for fix in fixes]


@pytest.mark.slow
async def test_over_mcp_a_signed_service_is_believed_again_after_a_kill(folder: Path) -> None:
    orders = [("place", {"plan": "growth"}), ("place", {"plan": "scale"})]
    issuer = f"{ISSUER}/mcp"
    with mcp_shop(folder, "stamp.key") as url, remembering(folder, issuer) as memory:
        port = int(url.split(":")[2].split("/")[0])
        assert await told_over_mcp(memory, url, *orders) == [True, True]
        assert (known(memory, "growth"), known(memory, "scale")) == (["SUMMER25"], ["PARTNER20"])
    rotate = ("rotate", {"plan": "growth", "code": "WINTER26"})
    with mcp_shop(folder, "stamp.key", port) as url, remembering(folder, issuer) as memory:
        assert await told_over_mcp(memory, url, rotate) == [False]
        assert (known(memory, "growth"), known(memory, "scale")) == ([], ["PARTNER20"])
        assert "untrusted" not in memory.counters
    write_key(folder / "other.key", "2026")
    steal = ("rotate", {"plan": "scale", "code": "STOLEN"})
    with mcp_shop(folder, "other.key", port) as url, remembering(folder, issuer) as memory:
        head = memory.store.head()
        assert await told_over_mcp(memory, url, steal, *orders) == [False, True, True]
        assert memory.counters["untrusted"] > 0
        assert memory.store.head() == head
        assert known(memory, "scale") == ["PARTNER20"]
