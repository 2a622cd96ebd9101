"""Reads the recipe stream."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field

from lapse_bench.scenarios import DriftEvent

__all__ = ["CLASSES", "RecipeStream", "RecipeTask", "load_recipes"]

Class = Literal["celiac", "combination", "ladder", "none"]
CLASSES: tuple[Class, ...] = get_args(Class)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecipeTask(_Strict):
    """What an agent is asked to do, before it knows better."""

    family: Class = Field(alias="class")
    request: dict[str, Any]


class _File(_Strict):
    name: str
    world: Literal["recipes-v1"]
    rungs: list[str]
    excluded_slots: list[int]
    tasks: dict[str, RecipeTask]
    episodes: list[list[str]]
    events: list[DriftEvent]


class RecipeStream(_Strict):
    """A stream that can be run: a task and a rung of the ladder for every episode."""

    name: str
    world: str
    episodes: tuple[RecipeTask, ...]
    rungs: tuple[str, ...]
    excluded_slots: tuple[int, ...]
    events: tuple[DriftEvent, ...]

    def request(self, episode: int) -> dict[str, Any]:
        """The request of an episode, on its rung."""
        return {**self.episodes[episode].request, "diet": self.rungs[episode]}


def load_recipes() -> RecipeStream:
    """The stream that ships with the benchmark."""
    path = Path(str(files("lapse_bench.scenarios"))) / "recipes.yaml"
    given = _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    names = [name for block in given.episodes for name in block]
    return RecipeStream(
        name=given.name,
        world=given.world,
        episodes=tuple(given.tasks[name] for name in names),
        rungs=tuple(given.rungs[place % len(given.rungs)] for place in range(len(names))),
        excluded_slots=tuple(given.excluded_slots),
        events=tuple(given.events),
    )
