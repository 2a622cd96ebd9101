"""Attacks on the contract, run for real: an attacked server or proxy, and two clients.

Each case is run twice over loopback HTTP, against a client that takes every service at its word and
against one that was given `lapse.trust`. What is counted is harm that can be seen from outside:
stale fixes applied, true fixes lost, parameters injected, requests that were not needed, fixes that
could not be used. What protection does not help against is a case as well, and says so.
"""

from lapse_bench.attacks.cases import CASES
from lapse_bench.attacks.running import run_attacks
from lapse_bench.attacks.scene import Case

__all__ = ["CASES", "Case", "run_attacks"]
