"""What the commands that run a benchmark have in common: options, and what is made of them."""

from __future__ import annotations

from enum import StrEnum
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr

from lapse.contract import Consumption
from lapse.errors import InvalidValue
from lapse.judges import PlannerSettings, Prompting
from lapse_bench.planners import counted, probed

if TYPE_CHECKING:
    from lapse.judges import Planner, Probe

__all__ = [
    "BaseUrl",
    "ConsumeBy",
    "Consumes",
    "Form",
    "Format",
    "Level",
    "Out",
    "PlannerName",
    "PromptingBy",
    "Seed",
    "asked_for",
    "config_of",
]


_WITH_KEYS = ("openai", "anthropic")
"""The planners that ask a service; its key is in the environment, where no list of processes and no
history of commands shows it."""


class Form(StrEnum):
    """How a result is written."""

    JSON = "json"
    TABLE = "table"


class Consumes(StrEnum):
    """Who puts remembered fixes into requests."""

    BRIEF = "brief"
    APPLY = "apply"


Format = Annotated[Form, typer.Option("--format", help="table for people, json for programs.")]
Out = Annotated[Path | None, typer.Option("--out", help="Also write the JSON result to this file.")]
Seed = Annotated[int, typer.Option("--seed", help="Recorded; decides every draw there is.")]
PlannerName = Annotated[
    str,
    typer.Option(
        "--planner",
        help="Who writes the requests: oldest, newest, conservative, paraphrasing, forgetful, "
        "stand-in:MODEL, local, openai:MODEL or anthropic:MODEL.",
    ),
]
ConsumeBy = Annotated[
    Consumes,
    typer.Option(
        "--consume",
        help="Who puts remembered fixes into requests: brief, the planner, who is shown them; "
        "apply, the transport, and the planner is shown none.",
    ),
]
BaseUrl = Annotated[
    str, typer.Option("--base-url", help="Where the service of openai: or anthropic: is.")
]
Level = Annotated[
    int, typer.Option("--level", min=2, max=3, help="How a model is shown fixes: 2 or 3.")
]
PromptingBy = Annotated[
    Prompting, typer.Option("--prompting", help="The words around a task for a model.")
]


def asked_for(
    name: str,
    seed: int,
    base_url: str = "",
    level: int = 3,
    prompting: Prompting = Prompting.PLAIN,
) -> tuple[Planner, Probe]:
    """The planner of a command and who answered for it; its key is in the environment."""
    kind, colon, model = name.partition(":")
    variable = f"{kind.upper()}_API_KEY"
    key = environ.get(variable)
    if kind in _WITH_KEYS and colon and model and not key:
        raise InvalidValue(variable, key, f"set it to the key of the service behind {name}")
    settings = PlannerSettings(
        seed=seed,
        level=Consumption(level),
        prompting=prompting,
        key=SecretStr(key) if key else None,
        base_url=base_url or None,
    )
    planner, probe = probed(name, settings)
    return counted(planner, settings), probe


def config_of(
    seed: int, level: int, prompting: Prompting, consume: Consumes = Consumes.BRIEF
) -> dict[str, Any]:
    """What decides a run beside its stream, planner and arms."""
    return {
        "seed": seed,
        "consume": consume.value,
        "level": level,
        "prompting": prompting.value,
    }
