"""The settings that every test stands on are in force, not merely written down."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import tomllib
import warnings
from pathlib import Path

import anyio
import pytest
from hypothesis import settings
from pytest_socket import SocketConnectBlockedError

ROOT = Path(__file__).resolve().parents[2]
PURE = {"lapse.errors", "lapse.ledger", "lapse.contract", "lapse.admission", "lapse.upkeep"}
BEYOND = ("192.0.2.1", 9)  # an address that documentation uses and nobody has (RFC 5737)


def test_nothing_beyond_this_machine_can_be_reached() -> None:
    with socket.socket() as client, pytest.raises(SocketConnectBlockedError):
        client.connect(BEYOND)


async def test_nothing_beyond_this_machine_can_be_reached_by_the_event_loop() -> None:
    with pytest.raises(SocketConnectBlockedError):
        await asyncio.open_connection(*BEYOND)


async def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        async with await anyio.connect_tcp("127.0.0.1", server.getsockname()[1]) as stream:
            await stream.send(b"x")


def test_unix_sockets_are_open(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


def test_a_warning_is_an_error() -> None:
    with pytest.raises(UserWarning, match="seen"):
        warnings.warn("seen", stacklevel=1)


def test_no_property_is_judged_by_how_long_it_took() -> None:
    assert settings().deadline is None


def test_every_pure_room_that_exists_is_held_to_full_branch_coverage() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    existing = {name for name in PURE if importlib.util.find_spec(name)}
    assert set(tool["coverage"]["run"]["source_pkgs"]) == existing
    assert tool["coverage"]["run"]["branch"]
    assert tool["coverage"]["report"]["fail_under"] == 100
