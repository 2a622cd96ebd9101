"""The settings that every test stands on are in force, not merely written down."""

from __future__ import annotations

import asyncio
import socket
import warnings
from pathlib import Path

import anyio
import pytest
from hypothesis import settings
from pytest_socket import SocketConnectBlockedError

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
