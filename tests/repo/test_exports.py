"""What the package offers is what it says it offers, and each offer explains itself.

The order inside `__all__` is a matter for lint (RUF022); here it is about truth.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import lapse

ROOMS = sorted(
    f"lapse.{module.name}" for module in pkgutil.iter_modules(lapse.__path__) if module.ispkg
)


def exported(module: ModuleType) -> list[str]:
    """The names in a module's `__all__`."""
    names: list[str] = module.__all__
    return names


def test_the_package_has_rooms() -> None:
    assert "lapse.ledger" in ROOMS


@pytest.mark.parametrize("name", ["lapse", *ROOMS])
def test_every_exported_name_exists_once(name: str) -> None:
    module = importlib.import_module(name)
    names = exported(module)
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", ["lapse", *ROOMS])
def test_every_exported_class_and_function_explains_itself(name: str) -> None:
    module = importlib.import_module(name)
    silent = [
        name
        for name in exported(module)
        if inspect.isclass(value := getattr(module, name)) or inspect.isroutine(value)
        if value.__module__.startswith(
            "lapse"
        )  # an alias of somebody else's type is theirs to explain
        if not (value.__doc__ or "").strip() or generated(value)
    ]
    assert silent == []


def generated(value: object) -> bool:
    """Whether the only documentation is the signature that a dataclass writes for itself."""
    return inspect.isclass(value) and (value.__doc__ or "").startswith(f"{value.__name__}(")


def test_the_facade_offers_nothing_beside_its_list() -> None:
    stray = [
        name
        for name, value in vars(lapse).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name not in exported(lapse)
    ]
    assert stray == []


def test_every_room_and_the_facade_say_what_they_are_for() -> None:
    assert [
        name
        for name in ["lapse", *ROOMS]
        if not (importlib.import_module(name).__doc__ or "").strip()
    ] == []
