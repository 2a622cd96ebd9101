"""Reads scenario files and refuses those that could not be run."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lapse.errors import InvalidValue

__all__ = ["SHIPPED", "DriftEvent", "Scenario", "Task", "load"]

SHIPPED: Final = (
    "payments",
    "undrifted",
    "rotations-1",
    "rotations-2",
    "rotations-3",
    "rotations-4",
    "rotations-5",
    "rotations-6",
    "rotations-8",
    "rotations-11",
    "channels",
    "vectors",
    "two-at-once",
    "story",
)
"""The scenarios that a user can name."""

Family = Literal["governed", "funding", "control", "none"]
Index = Annotated[int, Field(ge=0)]
_Form = TypeVar("_Form", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(_Strict):
    """What an agent is asked to do, before it knows better.

    Attributes:
        family: the class of constraint it meets; `class` in the file.
        operation: method and path.
        request: the body it would send without any memory.
    """

    family: Family = Field(alias="class")
    operation: str = Field(pattern=r"^[A-Z]+ /")
    request: dict[str, Any]


class DriftEvent(_Strict):
    """A change on the server's side.

    Attributes:
        before: the index of the episode that it comes before.
        table: the table that moves.
        kind: `rotate` changes rows; `bump` moves the version and nothing else.
        version: the table's version afterwards.
        rows: the rows that change, whole; null removes one.
    """

    before: Index
    table: str
    kind: Literal["rotate", "bump"]
    version: str
    rows: dict[str, dict[str, Any] | None] = {}


class _Stream(_Strict):
    name: str
    tasks: dict[str, Task]
    episodes: list[list[str]]


class _File(_Strict):
    name: str
    world: Literal["acme-billing-v1"]
    stream: str
    excluded_slots: list[Index]
    funding_split: Index
    events: list[DriftEvent]


class Scenario(_Strict):
    """A scenario that can be run.

    Attributes:
        name: what it is called.
        world: the server it runs against, by its versioned name.
        episodes: the tasks in order.
        excluded_slots: episodes that no score of compliance counts.
        funding_split: the first episode that counts as after the bump.
        events: what drifts, in order.
    """

    name: str
    world: str
    episodes: tuple[Task, ...]
    excluded_slots: tuple[int, ...]
    funding_split: int
    events: tuple[DriftEvent, ...]


def load(scenario: str) -> Scenario:
    """Read a scenario by its name, or from the path of a file.

    Raises:
        InvalidValue: there is no such scenario, or the file breaks the form; the message names the
            place in it.
    """
    folder = Path(str(files("lapse_bench.scenarios")))
    path = folder / f"{scenario}.yaml" if scenario in SHIPPED else Path(scenario)
    if not path.is_file():
        raise InvalidValue(
            "scenario",
            scenario,
            f"name one of {', '.join(SHIPPED)}, or the path of a scenario file",
        )
    given = _parsed(_File, path)
    beside = path.parent / f"{given.stream}.stream.yaml"
    stream = _parsed(
        _Stream, beside if beside.is_file() else folder / f"{given.stream}.stream.yaml"
    )
    names = [name for block in stream.episodes for name in block]
    unknown = next((name for name in names if name not in stream.tasks), None)
    if unknown is not None:
        raise InvalidValue(
            f"episodes of {stream.name}", unknown, f"name one of {', '.join(stream.tasks)}"
        )
    _check_reach(given, len(names))
    return Scenario(
        name=given.name,
        world=given.world,
        episodes=tuple(stream.tasks[name] for name in names),
        excluded_slots=tuple(given.excluded_slots),
        funding_split=given.funding_split,
        events=tuple(sorted(given.events, key=lambda event: event.before)),
    )


def _check_reach(given: _File, episodes: int) -> None:
    for field, index in (
        *(("excluded_slots", slot) for slot in given.excluded_slots),
        *(("before", event.before) for event in given.events),
    ):
        if index >= episodes:
            raise InvalidValue(
                f"{field} of {given.name}", index, f"the stream has {episodes} episodes, from 0"
            )
    for event in given.events:
        if event.kind == "bump" and event.rows:
            raise InvalidValue(
                f"rows of {given.name}", event.rows, "a bump changes no rows; make it a rotation"
            )


def _parsed(form: type[_Form], path: Path) -> _Form:
    try:
        return form.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as failure:
        raise InvalidValue(
            "scenario", str(path), f"give a readable YAML file ({failure})"
        ) from None
    except ValidationError as failure:
        first = failure.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidValue(f"{path.name}: {place}", first["input"], first["msg"]) from None
