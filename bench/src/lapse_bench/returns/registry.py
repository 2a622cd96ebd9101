"""The methods by name: what a run compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.errors import InvalidValue
from lapse_bench.returns.lapse_method import LAPSE
from lapse_bench.returns.memstrata import MEMSTRATA
from lapse_bench.returns.memtx import MEMTX
from lapse_bench.returns.policies import LAST_WRITER_WINS, REPLAY, RESET, RESTORE, STATIC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse_bench.returns.episodes import ReturnMethod

__all__ = ["METHODS", "chosen_methods"]

METHODS: Final[dict[str, ReturnMethod]] = {
    method.name: method
    for method in (STATIC, RESTORE, RESET, REPLAY, LAST_WRITER_WINS, MEMSTRATA, MEMTX, LAPSE)
}
"""Every method that a run knows; a new one is one line here."""


def chosen_methods(names: Iterable[str]) -> tuple[ReturnMethod, ...]:
    """The named methods, in the order asked for.

    Raises:
        InvalidValue: there is none of that name, one is named twice, or none is named.
    """
    asked = tuple(names)
    if not asked:
        raise InvalidValue("methods", asked, f"name some of {', '.join(METHODS)}")
    for name in asked:
        if name not in METHODS:
            raise InvalidValue("methods", name, f"name some of {', '.join(METHODS)}")
    if len(set(asked)) < len(asked):
        raise InvalidValue("methods", ",".join(asked), "name each method once")
    return tuple(METHODS[name] for name in asked)
