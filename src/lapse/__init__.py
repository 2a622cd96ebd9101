"""lapse: the memory-validity layer for LLM agents.

It knows which remembered things have lapsed, says why, and sits under any agent and over any store.
"""

from lapse.errors import LapseError

__all__ = ["LapseError"]
