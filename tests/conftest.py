"""What every test may rely on: one event loop kind, and Hypothesis profiles by name.

The environment variable LAPSE_HYPOTHESIS_PROFILE picks how hard properties are tried:

* `dev` (the default): quick, and different in every run;
* `ci`: the same examples in every run, so that a failure can be repeated by anybody;
* `nightly`: deep.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code: no profile judges it.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", _UNTIMED, max_examples=50)
settings.register_profile("ci", _UNTIMED, max_examples=100, derandomize=True)
settings.register_profile("nightly", _UNTIMED, max_examples=2_000)
settings.load_profile(os.environ.get("LAPSE_HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The loop under async tests: asyncio, because the PostgreSQL driver knows no other."""
    return "asyncio"
