"""Likeness of texts by their words: for stores that bring no search of their own."""

from __future__ import annotations

import re

__all__ = ["likeness", "words"]

_WORDS = re.compile(r"\w+")


def words(text: str) -> frozenset[str]:
    """The words of a text, whatever their case."""
    return frozenset(_WORDS.findall(text.casefold()))


def likeness(asked: frozenset[str], said: frozenset[str]) -> float:
    """The share of the words of both that both have."""
    return len(asked & said) / len(asked | said) if asked and said else 0.0
