"""From bytes to contract values; tolerant, and safe against whatever a peer sends.

`read_response` never raises. Each thing it does not take in becomes a `Refusal`, and the rest is
still read: body members first, then the header mirrors for what the body did not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from lapse.contract import (
    CacheHint,
    Envelope,
    RowVersion,
    Suggestion,
    TableChanges,
    TableVersion,
    is_name,
)
from lapse.errors import MalformedMessage
from lapse.wire import models
from lapse.wire.fields import LOCATION, RULES, VERSIONS, lines, read_text, read_versions
from lapse.wire.limits import DEFAULT_LIMITS, Limits, Reason, Refusal
from lapse.wire.parsing import doubled, flaw, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Reading", "ReloadRequest", "read_changes", "read_reload_request", "read_response"]

_WANTED = frozenset(name.lower().encode() for name in (VERSIONS, RULES, LOCATION, "Content-Type"))
_MEMBERS = (b'"success"', b'"recovery_feedback"', b'"table_versions"', b'"rules_version"', b"\\u00")
_SCANNED_BYTES = 16 * 1024
"""A longer body is searched for a contract member before it is parsed: that is far cheaper."""
_DROPPABLE = frozenset({"rows", "when", "cache_hint"})
"""Members without which a fix is only narrower: one request, a whole table, or not stored."""
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read, and what was not.

    Attributes:
        envelope: the contract members that could be read; all None when there are none.
        refusals: what was left out, and why.
    """

    envelope: Envelope
    refusals: tuple[Refusal, ...] = ()


def read_response(
    headers: Mapping[str, str] | Sequence[tuple[bytes | str, bytes | str]],
    body: bytes | None,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> Reading:
    """The contract members of a response. Never raises, whatever the bytes.

    Args:
        headers: the response's header lines.
        body: its decoded content; None when it was not read, and only the headers speak then.
        limits: how much is taken in.
    """
    refusals: list[Refusal] = []
    fields = {
        name: value
        for name, value in lines(headers, _WANTED).items()
        if not _too_long(name, value, limits, refusals)
    }
    members = _members(fields.get(b"content-type"), body, limits, refusals)
    versions = _versions(members, limits, refusals)
    rules = _name(members, "rules_version", refusals)
    return Reading(
        Envelope(
            success=_success(members, refusals),
            suggestions=tuple(_suggestions(members, limits, refusals)),
            table_versions=_mirrored_versions(fields, versions, refusals),
            rules_version=_mirrored_text(fields, RULES, rules, refusals),
            location=_mirrored_text(fields, LOCATION, None, refusals),
        ),
        tuple(refusals),
    )


def read_changes(body: bytes, *, limits: Limits = DEFAULT_LIMITS) -> TableChanges:
    """The answer of the changes endpoint.

    Raises:
        MalformedMessage: it cannot be read whole; a part of a diff would name too few rows.
    """
    message = _whole(models.Changes, body, limits, "list of changes")
    return TableChanges(
        table=message.table,
        since=message.since,
        version=message.version,
        complete=message.complete,
        rows=message.rows,
        downstream=tuple((row.table, row.key) for row in message.downstream),
    )


@dataclass(frozen=True, slots=True)
class ReloadRequest:
    """What an operator asks for.

    Attributes:
        table: the table.
        rows: all its rows from now on; None unloads it.
        version: the new version; None: the service chooses.
    """

    table: str
    rows: Mapping[str, Any] | None
    version: str | None


def read_reload_request(body: bytes, *, limits: Limits = DEFAULT_LIMITS) -> ReloadRequest:
    """The body of a reload.

    Raises:
        MalformedMessage: it cannot be read whole.
    """
    message = _whole(models.ReloadRequest, body, limits, "reload")
    return ReloadRequest(message.table, message.rows, message.version)


_M = TypeVar("_M", bound=BaseModel)


def _whole(model: type[_M], body: bytes, limits: Limits, what: str) -> _M:
    value = parse(body, limits)
    if isinstance(value, Reason):
        raise MalformedMessage(f"the {what} cannot be read: {value}")
    if (found := flaw(value, limits)) is not None:
        raise MalformedMessage(f"the {what} cannot be taken in: {found}")
    try:
        return model.model_validate(value)
    except ValidationError as failure:
        bad = failure.errors()[:3]
        reasons = ", ".join(f"{_path(e['loc']) or 'body'}: {_reason(e['type'])}" for e in bad)
        raise MalformedMessage(f"the {what} has another shape ({reasons})") from None


def _too_long(name: bytes, value: bytes, limits: Limits, refusals: list[Refusal]) -> bool:
    if len(value) <= limits.field_bytes:
        return False
    refusals.append(Refusal(Reason.TOO_LARGE, name.decode("latin-1")))
    return True


def _members(
    content_type: bytes | None, body: bytes | None, limits: Limits, refusals: list[Refusal]
) -> dict[str, Any]:
    if not body or not _is_json(content_type):
        return {}
    if len(body) > _SCANNED_BYTES and not any(member in body for member in _MEMBERS):
        return {}
    value = parse(body, limits)
    if isinstance(value, Reason):
        refusals.append(Refusal(value, "body"))
        return {}
    if not isinstance(value, dict):
        return {}  # an array or a scalar is the service's own data: Level 0
    members = cast("dict[str, Any]", value)
    twice = doubled(members)
    refusals.extend(Refusal(Reason.DUPLICATE_KEY, name) for name in sorted(twice & _OURS))
    return {name: members[name] for name in _OURS - twice if members.get(name) is not None}


_OURS = frozenset({"success", "recovery_feedback", "table_versions", "rules_version"})


def _is_json(content_type: bytes | None) -> bool:
    if content_type is None:
        return True
    media_type = content_type.split(b";", 1)[0].strip().lower()
    return media_type in (b"application/json", b"text/json") or media_type.endswith(b"+json")


def _success(members: dict[str, Any], refusals: list[Refusal]) -> bool | None:
    value = members.get("success")
    if value is None or isinstance(value, bool):
        return value
    refusals.append(Refusal(Reason.WRONG_TYPE, "success"))
    return None


def _name(members: dict[str, Any], member: str, refusals: list[Refusal]) -> str | None:
    value = members.get(member)
    if value is None or (isinstance(value, str) and is_name(value)):
        return value
    refusals.append(
        Refusal(Reason.BAD_NAME if isinstance(value, str) else Reason.WRONG_TYPE, member)
    )
    return None


def _versions(
    members: dict[str, Any], limits: Limits, refusals: list[Refusal]
) -> dict[str, str] | None:
    value = members.get("table_versions")
    if value is None:
        return None
    if not isinstance(value, dict):
        refusals.append(Refusal(Reason.WRONG_TYPE, "table_versions"))
        return None
    entries = cast("dict[str, Any]", value)
    if len(entries) > limits.values:
        refusals.append(Refusal(Reason.TOO_MANY, "table_versions"))
        return None
    twice = doubled(entries)
    versions: dict[str, str] = {}
    for table, version in entries.items():
        reason = Reason.DUPLICATE_KEY if table in twice else _version_flaw(table, version)
        if reason is None:
            versions[table] = version
        else:
            refusals.append(Refusal(reason, f"table_versions[{_quoted(table)}]"))
    return versions


def _version_flaw(table: str, version: object) -> Reason | None:
    if not isinstance(version, str):
        return Reason.WRONG_TYPE
    return None if is_name(table) and is_name(version) else Reason.BAD_NAME


def _suggestions(
    members: dict[str, Any], limits: Limits, refusals: list[Refusal]
) -> Iterator[Suggestion]:
    feedback = members.get("recovery_feedback")
    if feedback is None:
        return
    if not isinstance(feedback, dict):
        refusals.append(Refusal(Reason.WRONG_TYPE, "recovery_feedback"))
        return
    inside = cast("dict[str, Any]", feedback)
    listed = inside.get("suggestions")
    if "suggestions" in doubled(inside):
        refusals.append(Refusal(Reason.DUPLICATE_KEY, "recovery_feedback.suggestions"))
        return
    if listed is None:
        return
    if not isinstance(listed, list):
        refusals.append(Refusal(Reason.WRONG_TYPE, "recovery_feedback.suggestions"))
        return
    offered = cast("list[Any]", listed)
    if len(offered) > limits.suggestions:
        refusals.append(Refusal(Reason.TOO_MANY, "recovery_feedback.suggestions"))
    for place, value in enumerate(offered[: limits.suggestions]):
        suggestion = _suggestion(value, f"recovery_feedback.suggestions[{place}]", limits, refusals)
        if suggestion is not None:
            yield suggestion


def _suggestion(
    value: object, where: str, limits: Limits, refusals: list[Refusal]
) -> Suggestion | None:
    if not isinstance(value, dict):
        refusals.append(Refusal(Reason.WRONG_TYPE, where))
        return None
    if (found := flaw(cast("dict[str, Any]", value), limits)) is not None:
        refusals.append(Refusal(found, where))
        return None
    members = cast("dict[str, Any]", value)
    unread: dict[str, Any] = {}
    try:
        message = models.Suggestion.model_validate(members)
    except ValidationError as failure:
        bad = {str(error["loc"][0]): error for error in reversed(failure.errors())}
        refusals.extend(
            Refusal(_reason(error["type"]), f"{where}.{_path(error['loc'])}")
            for error in bad.values()
        )
        if not bad.keys() <= _DROPPABLE:
            return None
        unread = {name: members[name] for name in bad}
        message = models.Suggestion.model_validate(
            {name: member for name, member in members.items() if name not in bad}
        )
    suggestion = _suggestion_of(message, unread)
    if not _consistent(suggestion):
        refusals.append(Refusal(Reason.DISAGREES, where))
        return None
    return suggestion


def _suggestion_of(message: models.Suggestion, unread: dict[str, Any]) -> Suggestion:
    return Suggestion(
        type=message.type,
        parameters=message.parameters,
        cache_hint=None if message.cache_hint is None else CacheHint(message.cache_hint),
        table=message.table,
        tables=tuple(TableVersion(entry.table, entry.version) for entry in message.tables or ()),
        rows=tuple(RowVersion(row.table, row.key, row.version) for row in message.rows or ()),
        when=message.when,
        more={**(message.model_extra or {}), **unread},
    )


def _consistent(suggestion: Suggestion) -> bool:
    tables = {entry.table: entry.version for entry in suggestion.tables}
    rows = {(row.table, row.key): row.version for row in suggestion.rows}
    return all(tables[entry.table] == entry.version for entry in suggestion.tables) and all(
        rows[row.table, row.key] == row.version for row in suggestion.rows
    )


def _mirrored_versions(
    fields: dict[bytes, bytes], said: dict[str, str] | None, refusals: list[Refusal]
) -> dict[str, str] | None:
    value = fields.get(VERSIONS.lower().encode())
    if value is None:
        return said
    pairs = read_versions(value)
    if isinstance(pairs, Reason):
        refusals.append(Refusal(pairs, VERSIONS))
        return said
    mirrored = dict(pairs)
    if said is None:
        return mirrored
    if said != mirrored:
        refusals.append(Refusal(Reason.DISAGREES, VERSIONS))
    return said


def _mirrored_text(
    fields: dict[bytes, bytes], header: str, said: str | None, refusals: list[Refusal]
) -> str | None:
    value = fields.get(header.lower().encode())
    if value is None:
        return said
    text = read_text(value)
    if isinstance(text, Reason):
        refusals.append(Refusal(text, header))
        return said
    if said is None:
        return text
    if said != text:
        refusals.append(Refusal(Reason.DISAGREES, header))
    return said


_REASONS = {
    "missing": Reason.MISSING,
    "literal_error": Reason.UNKNOWN_VALUE,
    "value_error": Reason.BAD_NAME,
    "string_too_short": Reason.BAD_NAME,
    "string_too_long": Reason.BAD_NAME,
    "string_unicode": Reason.LONE_SURROGATE,
}


def _reason(error: str) -> Reason:
    return _REASONS.get(error, Reason.WRONG_TYPE)


def _path(loc: tuple[int | str, ...]) -> str:
    return ".".join(
        step if isinstance(step, str) and step.isidentifier() else _quoted(step) for step in loc
    )


def _quoted(name: int | str) -> str:
    shown = ascii(name)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
