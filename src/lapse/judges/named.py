"""From what a user types to a planner.

A model's own libraries are loaded only for the planner that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract import Consumption
from lapse.errors import InvalidValue
from lapse.judges.prompting import Prompting
from lapse.judges.scripted import SCRIPTED
from lapse.judges.stand_ins import STAND_INS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import SecretStr

    from lapse.judges.planning import Planner

__all__ = ["PLANNER_NAMES", "PlannerSettings", "planner_named"]

_SERVICES: Final[Mapping[str, str]] = {
    "openai": "lapse.judges.openai_style.OpenAIPlanner",
    "anthropic": "lapse.judges.anthropic_style.AnthropicPlanner",
}
_LOCAL: Final = "lapse.judges.local.LocalPlanner"

PLANNER_NAMES: Final = (
    *SCRIPTED,
    *STAND_INS,
    "local",
    *(f"{service}:MODEL" for service in _SERVICES),
)
"""Everything that can be asked for; MODEL is a model's name at the service."""

_MODELS: Final = ", ".join(name.partition(":")[2] for name in STAND_INS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerSettings:
    """What a planner needs beyond its name; each takes what concerns it.

    Attributes:
        seed: decides what a stand-in draws.
        level: how fixes are put to a model.
        prompting: the words around a task for a model.
        key: the key of the service behind the model.
        base_url: where that service is; its own address when left out.
    """

    seed: int = 0
    level: Consumption = Consumption.AMENDED
    prompting: Prompting = Prompting.PLAIN
    key: SecretStr | None = field(default=None, repr=False)
    base_url: str | None = None


def planner_named(name: str, settings: PlannerSettings | None = None) -> Planner:
    """The planner of a name, not yet probed: pass it to `checked` before a run.

    Args:
        name: one of `PLANNER_NAMES`.
        settings: what it needs beyond the name.

    Raises:
        InvalidValue: there is no such planner, or something that it needs is not given.
        MissingExtra: a package that it needs is not installed.
    """
    settings = settings or PlannerSettings()
    kind, colon, model = name.partition(":")
    if name in SCRIPTED:
        return SCRIPTED[name]
    if name in STAND_INS:
        return STAND_INS[name](settings.seed)
    if name == "local":
        return _made(_LOCAL, level=settings.level, prompting=settings.prompting)
    if kind in _SERVICES and colon:
        return _served(kind, model, settings)
    known = ", ".join(name for name in PLANNER_NAMES if name not in STAND_INS)
    raise InvalidValue("planner", name, f"name one of {known}, or stand-in: and one of {_MODELS}")


def _served(kind: str, model: str, settings: PlannerSettings) -> Planner:
    if not model:
        remedy = f"name the model that is asked for, as {kind}:MODEL"
        raise InvalidValue("planner", f"{kind}:", remedy)
    if settings.key is None:
        remedy = f"give the key of the service behind {kind}:{model}"
        raise InvalidValue("key", None, remedy)
    where = {} if settings.base_url is None else {"base_url": settings.base_url}
    return _made(
        _SERVICES[kind],
        model=model,
        key=settings.key,
        level=settings.level,
        prompting=settings.prompting,
        **where,
    )


def _made(path: str, **arguments: object) -> Planner:
    module, _, name = path.rpartition(".")
    make = cast("Callable[..., Any]", getattr(import_module(module), name))
    return cast("Planner", make(**arguments))
