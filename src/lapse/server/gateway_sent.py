"""What a request says: its query, its headers, and the members of its body."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse.ledger import JsonObject
    from lapse.server.exchange import Scope

__all__ = ["Sent", "is_json", "object_of", "sent_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as it was sent.

    Attributes:
        query: texts by name, in order.
        headers: texts by lower-case name.
        body: its members; None when there is no body, or none that could be read.
        form: whether the body's values are texts.
        empty: whether there is no body at all.
    """

    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: JsonObject | None = None
    form: bool = False
    empty: bool = True

    @property
    def members(self) -> str | None:
        """The place whose values a client takes for the request's members; None: none of them."""
        if self.body is not None:
            return "body"
        return "query" if self.empty else None


def sent_of(scope: Scope, body: bytes | None) -> Sent:
    """What a request says, as far as it can be read.

    Args:
        scope: the request.
        body: its body; None when it was not kept whole.
    """
    query: dict[str, list[str]] = {}
    for name, value in _pairs(scope.get("query_string", b"")):
        query.setdefault(name, []).append(value)
    headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    members: dict[str, Any] | None = None
    form = kind == "application/x-www-form-urlencoded"
    if body and form:
        pairs = _pairs(body)
        texts: dict[str, Any] = {}
        for name, value in pairs:
            texts[name] = (
                [*texts[name], value]
                if isinstance(texts.get(name), list)
                else ([texts[name], value] if name in texts else value)
            )
        members = texts
    elif body and is_json(kind):
        members = object_of(body)
    return Sent(query=query, headers=headers, body=members, form=form, empty=body == b"")


def is_json(kind: str) -> bool:
    """Whether a media type, without parameters, is JSON."""
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def _pairs(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.decode("utf-8"), keep_blank_values=True, max_num_fields=1_000)
    except ValueError:
        return []


def object_of(body: bytes) -> dict[str, Any] | None:
    """A JSON object read strictly: not one whose members are named twice."""
    try:
        value: object = json.loads(
            body.decode("utf-8"), object_pairs_hook=_named_once, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _no_number(_text: str) -> Any:
    raise ValueError
