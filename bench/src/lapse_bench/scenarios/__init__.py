"""Scenarios as files: which tasks come in which order, and what drifts before which of them.

A scenario is data, so what a score leaves out (`excluded_slots`) is an index list that can be read
before any run, not something found by looking at results.
"""

from lapse_bench.scenarios.reading import SHIPPED, DriftEvent, Scenario, Task, load

__all__ = ["SHIPPED", "DriftEvent", "Scenario", "Task", "load"]
