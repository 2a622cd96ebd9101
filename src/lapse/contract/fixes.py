"""A fix as it is remembered: a suggestion turned into a record, and back."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lapse.contract.messages import CacheHint
from lapse.contract.verdicts import Reason
from lapse.errors import InvalidValue
from lapse.ledger import (
    Interval,
    Kind,
    Outcome,
    Receipt,
    Record,
    Source,
    Stamp,
    canonical,
    digest,
    vector,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.contract.messages import Envelope, Suggestion
    from lapse.contract.rules import Rule
    from lapse.ledger import Instant, JsonObject

__all__ = ["Fix", "Lesson", "amend", "fingerprint_of", "learned", "same_fix"]

_DEEPEST = 64
"""Levels of nesting that `amend` follows; a request nested deeper is replaced, not merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """The exchange that a suggestion came from.

    Attributes:
        issuer: who answered.
        operation: what was asked for, as method and path or tool name.
        request: the request's members; None when it was not a JSON object.
        envelope: the contract members of the answer.
        at: when it arrived.
        applied: the ids of the remembered fixes that were merged into the request; a policy that
            looks at rules takes note of those that were accepted.
        accepted: whether the service took the request; None when that is not known, or when it
            failed for a reason that is not in the request. It speaks for or against `applied`.
        declared: the service's rules as they stand, when somebody has asked for them.
    """

    issuer: str
    operation: str
    request: JsonObject | None
    envelope: Envelope
    at: Instant
    applied: tuple[str, ...] = ()
    accepted: bool | None = None
    declared: tuple[Rule, ...] | None = None

    @property
    def teaches(self) -> bool:
        """Whether it says more than which versions there are."""
        return bool(self.envelope.suggestions or self.applied) or self.declared is not None


@dataclass(frozen=True, slots=True)
class Fix:
    """A remembered fix, ready to be applied.

    Attributes:
        record: the record behind it; `record.id` is what `why` takes.
        type: the action, from the issuer's vocabulary.
        parameters: the literal values to merge into the request.
        when: the request fields for which it holds; None: for one exact request.
    """

    record: Record
    type: str
    parameters: JsonObject
    when: JsonObject | None

    @classmethod
    def of(cls, record: Record) -> Fix:
        """Read a record of kind FIX."""
        content = record.content
        return cls(record, content["type"], content["parameters"], content["when"])

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    def holds_for(self, request: JsonObject) -> bool:
        """Whether the fix was given for requests like this one."""
        if self.when is None:
            return fingerprint_of(request) == self.record.content["request"]
        return all(_alike(_member(request, path), value) for path, value in self.when.items())


def learned(
    suggestion: Suggestion, lesson: Lesson, *, record_id: str, watched: bool
) -> Record | Reason:
    """The record to remember a suggestion by, or the reason not to.

    Args:
        suggestion: what the service offered.
        lesson: the exchange it came from.
        record_id: the id for a new record.
        watched: whether the policy compares versions; if not, the record carries no stamps.
    """
    if suggestion.cache_hint is not CacheHint.CACHEABLE:
        return Reason.NOT_CACHEABLE
    stamps = _stamps(suggestion, lesson) if watched else ()
    if isinstance(stamps, Reason):
        return stamps
    if suggestion.when is None and lesson.request is None:
        return Reason.NO_SITUATION
    try:
        content = _content(suggestion, lesson)
        situation = digest(canonical([content["type"], content["when"], content["request"]]))[:24]
        receipt = _seen(suggestion, lesson)
    except InvalidValue:
        return Reason.NOT_JSON
    return Record(
        id=record_id,
        kind=Kind.FIX,
        slot=f"{lesson.operation} {situation}",
        topic=lesson.operation,
        content=content,
        valid=Interval(lesson.at),
        issuer=lesson.issuer,
        stamps=stamps,
        receipts=(receipt,),
    )


def same_fix(one: Record, other: Record) -> bool:
    """Whether two records of a slot say the same thing on the same ground."""
    return _ground(one) == _ground(other) and _alike(dict(one.content), dict(other.content))


def _ground(record: Record) -> list[tuple[Source, str | None]]:
    # A table's version is left to its mark, which moves on under a record that stays good.
    return [(s.source, s.version if s.source.kind == "row" else None) for s in record.stamps]


def fingerprint_of(request: JsonObject) -> str | None:
    """What tells one exact request from another: SHA-256 of its RFC 8785 bytes, in hex.

    None for a request that has no canonical form: it equals no other, and nothing is remembered
    for it.
    """
    try:
        return digest(canonical(dict(request)))
    except InvalidValue:
        return None


def amend(request: JsonObject, parameters: JsonObject) -> dict[str, Any]:
    """The request with the parameters merged in: objects by member, everything else replaced."""
    return _merged(request, parameters, _DEEPEST)


def _merged(request: JsonObject, parameters: JsonObject, levels: int) -> dict[str, Any]:
    merged = dict(request)
    for name, value in parameters.items():
        before = merged.get(name)
        if levels and isinstance(before, dict) and isinstance(value, dict):
            inside = cast("JsonObject", before), cast("JsonObject", value)
            merged[name] = _merged(*inside, levels - 1)
        else:
            merged[name] = deepcopy(value)  # whoever edits the request does not edit the memory
    return merged


def _member(request: JsonObject, path: str) -> Any:  # the caller compares, whatever it is
    """The member at a dotted path; a literal name wins over a path. None when absent (C-SUG-09)."""
    if path in request:
        return request[path]
    here: Any = request
    for name in path.split("."):
        if not isinstance(here, dict):
            return None
        here = cast("dict[str, Any]", here).get(name)
    return here


def _alike(one: object, other: object) -> bool:
    """Whether two JSON values are one value: 1 is 1.0, and neither is true."""
    try:
        return one is other or canonical(one) == canonical(other)
    except InvalidValue:
        return False


def _content(suggestion: Suggestion, lesson: Lesson) -> dict[str, Any]:
    request = lesson.request if suggestion.when is None else None
    return {
        "type": suggestion.type,
        "parameters": dict(suggestion.parameters),
        "when": None if suggestion.when is None else dict(suggestion.when),
        "request": None if request is None else digest(canonical(dict(request))),
    }


def _stamps(suggestion: Suggestion, lesson: Lesson) -> tuple[Stamp, ...] | Reason:
    versions = _versions(suggestion, lesson.envelope)
    if not versions:
        return Reason.NO_DEPENDENCY
    if any(version is None for version in versions.values()):
        return Reason.UNKNOWN_VERSION
    issuer = lesson.issuer
    stamps = [
        Stamp(Source.row(issuer, row.table, row.key), row.version, versions[row.table])
        for row in suggestion.rows
    ]
    covered = {row.table for row in suggestion.rows}
    stamps += [Stamp(Source.table(issuer, t), v) for t, v in versions.items() if t not in covered]
    if lesson.envelope.rules_version is not None:
        stamps.append(Stamp(Source.rules(issuer), lesson.envelope.rules_version))
    try:
        return vector(stamps)
    except InvalidValue:  # one row at two versions: the service contradicts itself
        return Reason.UNKNOWN_VERSION


def _seen(suggestion: Suggestion, lesson: Lesson) -> Receipt:
    return Receipt(
        observer=lesson.issuer,
        source=Source.probe("exchange", lesson.operation),
        at=lesson.at,
        digest=digest(canonical([suggestion.type, dict(suggestion.parameters)])),
        outcome=Outcome.CONFIRMS,
    )


def _versions(suggestion: Suggestion, envelope: Envelope) -> dict[str, str | None]:
    """Each table the suggestion rests on, with its version in this response.

    The suggestion's own vector counts over the envelope's map: it was read when the fix was made.
    """
    known: Mapping[str, str] = envelope.table_versions or {}
    versions: dict[str, str | None] = {entry.table: entry.version for entry in suggestion.tables}
    if not versions and suggestion.table is not None:
        versions[suggestion.table] = known.get(suggestion.table)
    for row in suggestion.rows:
        versions.setdefault(row.table, known.get(row.table))
    return versions
