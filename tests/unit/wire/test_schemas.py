"""The published schemas are those of the models, and what is written satisfies them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lapse.contract import Envelope, Reading, Registry, Rule, Table
from lapse.wire import (
    Problem,
    changes_members,
    envelope_members,
    graph_members,
    problem_members,
    reload_members,
    schemas,
    suggestion_members,
)

PUBLISHED = Path(__file__).parents[3] / "docs" / "contract" / "schemas"
REGISTRY = Registry.of(
    [Table("codes", {"growth": {"code": "S"}}, "1"), Table("promo", {"S": {}}, "1")],
    [Rule("codes", "promo", "needs", "code")],
)


def test_the_published_schemas_are_up_to_date() -> None:
    published = {
        path.stem: json.loads(path.read_text("utf-8")) for path in PUBLISHED.glob("*.json")
    }
    assert published == schemas(), "run: python tools/write_schemas.py"


def examples() -> dict[str, Any]:
    tables = Reading(REGISTRY)
    tables["codes"].get("growth")
    tables["promo"].get("gone")
    fix = tables.suggest("ADD", {"promotion_code": "S"}, when={"plan": "growth", "seats": None})
    envelope = Envelope(
        success=False,
        suggestions=(fix,),
        table_versions=REGISTRY.table_versions,
        rules_version=REGISTRY.rules_version,
    )
    after, reload = REGISTRY.reload("codes", {"scale": {"code": "S"}}, "2")
    return {
        "changes": changes_members(after.changes_since("codes", "1")),
        "envelope": envelope_members(envelope),
        "graph": graph_members(REGISTRY.graph, REGISTRY.table_versions),
        "problem": problem_members(Problem(title="T", status=422, detail="D"), envelope),
        "reload": reload_members(reload),
        "reload-request": {"table": "codes", "rows": {"growth": [1]}, "version": "2"},
        "suggestion": suggestion_members(fix),
        "versions": {"table_versions": REGISTRY.table_versions, "rules_version": "abc"},
    }


@pytest.mark.parametrize("name", sorted(schemas()))
def test_what_is_written_satisfies_its_schema(name: str) -> None:
    schema = schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(examples()[name], schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_lets_members_of_later_versions_pass(name: str) -> None:
    later = {**examples()[name], "later": {"x": 1}}
    jsonschema.validate(later, schemas()[name], cls=jsonschema.Draft202012Validator)
