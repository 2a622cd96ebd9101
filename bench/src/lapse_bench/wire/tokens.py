"""Counts tokens as a planner's provider bills them: o200k, the encoding of current models."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

with warnings.catch_warnings():
    # How it opens its own tables is deprecated, and not ours to change.
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai  # pyright: ignore[reportMissingTypeStubs] - it has none

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse_bench.wire.streams import Context

__all__ = ["ENCODING", "added", "tokens"]

ENCODING: Final = "o200k_base"


@cache
def tokens(text: str) -> int:
    """How many tokens a text is."""
    return len(_encoding().encode(text))


@cache
def _encoding() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as above
        return cast("Any", bpe_openai).get_encoding(ENCODING)


def added(contexts: Iterable[Context]) -> int:
    """By how many tokens the contexts are longer than those without anything of the contract."""
    return sum(tokens(context.brief) - tokens(context.bare) for context in contexts)
