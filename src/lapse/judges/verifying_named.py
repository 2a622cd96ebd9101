"""From what a user types to a model that rules on pairs.

A model's own libraries are loaded only for the judge that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.errors import InvalidValue
from lapse.judges.verifying_models import ModelJudge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from lapse.judges.services import Service

__all__ = ["JUDGE_NAMES", "JudgeSettings", "judge_named"]

_SERVICES: Final[Mapping[str, str]] = {
    "openai": "lapse.judges.openai_style.OpenAIService",
    "anthropic": "lapse.judges.anthropic_style.AnthropicService",
}
_LOCAL: Final = "lapse.judges.local.LocalModel"

JUDGE_NAMES: Final = ("local", *(f"{service}:MODEL" for service in _SERVICES))
"""Everything that can be asked for; MODEL is a model's name at the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """What a judge needs beyond its name; each takes what concerns it.

    Attributes:
        key: the key of the service behind the model.
        base_url: where that service is; its own address when left out.
        cues: see `ModelJudge`.
        reasons: see `ModelJudge`.
    """

    key: SecretStr | None = field(default=None, repr=False)
    base_url: str | None = None
    cues: tuple[str, ...] = ()
    reasons: bool = False


def judge_named(name: str, settings: JudgeSettings | None = None) -> ModelJudge:
    """The judge of a name. Close it, or use `with`.

    Args:
        name: one of `JUDGE_NAMES`.
        settings: what it needs beyond the name.

    Raises:
        InvalidValue: there is no such judge, or something that it needs is not given.
        MissingExtra: a package that it needs is not installed.
    """
    settings = settings or JudgeSettings()
    kind, _, model = name.partition(":")
    if name == "local":
        service = _made(_LOCAL)
    elif kind in _SERVICES and model:
        if settings.key is None:
            raise InvalidValue("key", None, f"give the key of the service behind {name}")
        where = {} if settings.base_url is None else {"base_url": settings.base_url}
        service = _made(_SERVICES[kind], model=model, key=settings.key, **where)
    else:
        raise InvalidValue("judge", name, f"name one of {', '.join(JUDGE_NAMES)}")
    return ModelJudge(service, cues=settings.cues, reasons=settings.reasons)


def _made(path: str, **arguments: object) -> Service:
    module, _, name = path.rpartition(".")
    make: Any = getattr(import_module(module), name)
    return cast("Service", make(**arguments))
