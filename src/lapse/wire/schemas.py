"""The messages as JSON Schemas (draft 2020-12), made from the models that read them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from lapse.wire import models

__all__ = ["schemas"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PUBLISHED: dict[str, type[BaseModel]] = {
    "changes": models.Changes,
    "envelope": models.Envelope,
    "graph": models.Graph,
    "problem": models.Problem,
    "reload": models.Reload,
    "reload-request": models.ReloadRequest,
    "suggestion": models.Suggestion,
    "versions": models.Versions,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Each message's schema by its name; unknown members are allowed everywhere."""
    return {
        name: {"$schema": _DIALECT, **model.model_json_schema(mode="serialization", by_alias=True)}
        for name, model in _PUBLISHED.items()
    }
