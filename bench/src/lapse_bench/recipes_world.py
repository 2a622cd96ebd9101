"""`recipes-v1`: three policies over four reference tables; each fix rewrites the ingredient.

=============  ===================================================================================
celiac         for a celiac guest, a base comes from the brand that is certified for it
combination    two ingredients that spoil each other are not used together
ladder         a diet refuses what its rung and those below it refuse
=============  ===================================================================================

Requests are judged by what they carry, so a fix can be judged by the members it speaks of alone.
The brands and combinations are made up; they are no advice to cooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.contract import Reading, Registry, Rule, Table, Violation, amend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["NAME", "OPERATION", "RULES", "TABLES", "fix_holds", "initial", "judge"]

NAME: Final = "recipes-v1"
OPERATION: Final = "POST /v1/conversions"

TABLES: Final[Mapping[str, dict[str, dict[str, Any]]]] = {
    "celiac_safe_brands": {
        "flour": {"brand": "Harrow certified flour"},
        "soy sauce": {"brand": "Tidewell certified tamari"},
        "oats": {"brand": "Northacre certified oats"},
        "pasta": {"brand": "Lumen certified pasta"},
    },
    "incompatible_combinations": {
        "pineapple with gelling powder": {"instead": "agar"},
        "kiwi with almond yoghurt": {"instead": "cashew yoghurt"},
        "lime with coconut cream": {"instead": "coconut milk"},
        "red wine with green lentils": {"instead": "brown lentils"},
        "vinegar with baking soda": {"instead": "baking powder"},
        "tamarind with oat milk": {"instead": "rice milk"},
        "papaya with firm tofu": {"instead": "seitan"},
        "rum with fruit pectin": {"instead": "carob gum"},
    },
    "dietary_ladder": {
        "omnivore": {"refuses": []},
        "pescatarian": {"refuses": ["beef stock"]},
        "vegetarian": {"refuses": ["beef stock", "fish sauce"]},
        "vegan": {"refuses": ["beef stock", "fish sauce", "butter"]},
    },
    "ladder_substitutes": {
        "beef stock": {"instead": "mushroom stock"},
        "fish sauce": {"instead": "seaweed sauce"},
        "butter": {"instead": "olive oil"},
    },
}
"""The rows that every run starts with."""

RULES: Final = (Rule("dietary_ladder", "ladder_substitutes", "replaced_by", via="refuses"),)
"""One rule: the ladder does not chain as deep as billing does."""


def initial() -> Registry:
    """The tables and rules that every run starts with, each table at version 1.0.0."""
    return Registry.of([Table(name, rows, "1.0.0") for name, rows in TABLES.items()], RULES)


def judge(operation: str, request: JsonObject, tables: Reading) -> Violation | None:
    """The first policy that the request violates; None when it passes."""
    for policy in _POLICIES if operation == OPERATION else ():
        tables.forget()
        violation = policy(request, tables)
        if violation is not None:
            return violation
    return None


def fix_holds(fix: Fix, operation: str, registry: Registry) -> bool:
    """Whether the service, as it stands, accepts what the fix makes of the requests it is for."""
    return judge(operation, amend(fix.when or {}, fix.parameters), Reading(registry)) is None


def _celiac(request: JsonObject, tables: Reading) -> Violation | None:
    base = request.get("base")
    if request.get("guest") != "celiac" or not isinstance(base, str):
        return None
    row = tables["celiac_safe_brands"].get(base)
    if row is None or request.get("ingredient") == row["brand"]:
        return None
    when = {"guest": "celiac", "base": base}
    return _violation(tables, "celiac", "USE_CERTIFIED_BRAND", row["brand"], when)


def _combination(request: JsonObject, tables: Reading) -> Violation | None:
    beside, ingredient = request.get("beside"), request.get("ingredient")
    if not isinstance(beside, str) or not isinstance(ingredient, str):
        return None
    row = tables["incompatible_combinations"].get(f"{beside} with {ingredient}")
    if row is None:
        return None
    when = {"beside": beside, "ingredient": ingredient}
    return _violation(tables, "combination", "REPLACE_INGREDIENT", row["instead"], when)


def _ladder(request: JsonObject, tables: Reading) -> Violation | None:
    diet, ingredient = request.get("diet"), request.get("ingredient")
    if not isinstance(diet, str) or not isinstance(ingredient, str):
        return None
    rung = tables["dietary_ladder"].get(diet)
    if rung is None or ingredient not in rung["refuses"]:
        return None
    instead = tables["ladder_substitutes"].get(ingredient)["instead"]
    when = {"diet": diet, "ingredient": ingredient}
    return _violation(tables, "ladder", "REPLACE_INGREDIENT", instead, when)


def _violation(
    tables: Reading, policy: str, kind: str, ingredient: str, when: JsonObject
) -> Violation:
    return Violation(
        policy=policy,
        title="The ingredient is not acceptable in this recipe",
        detail="The reference tables have another ingredient for this place in the recipe.",
        suggestions=(tables.suggest(kind, {"ingredient": ingredient}, when=when),),
    )


_POLICIES: Final[tuple[Callable[[JsonObject, Reading], Violation | None], ...]] = (
    _celiac,
    _combination,
    _ladder,
)
