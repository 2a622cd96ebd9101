"""Merging fixes into a request before it is sent: which of them, and why not the others.

What a service words then stands in the next request without anybody having read it (source text,
section 6.5), so this is where the client's own rules count, and each refusal has a reason:

1. A fix goes to its own issuer and to no other (C-CLI-11).
2. It sets no sensitive field and nothing that looks like an address, unless that was allowed by
   name; `FieldRules` says which.
3. It sets nothing that the user's own rule refuses.
4. The operation's schema declares every field it sets, and accepts the request that comes out.
5. Fixes and the amended request are bounded.

A fix is merged whole or not at all. What holds a schema, and how it is checked, is not decided
here: a `SchemaCheck` answers for it, and no check means that nothing is merged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from lapse.contract.fixes import amend, fingerprint_of
from lapse.contract.trust_fields import FieldFlaw, FieldRules, field_flaw, leaves
from lapse.errors import InvalidValue
from lapse.ledger import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.contract.fixes import Fix
    from lapse.ledger import JsonObject

__all__ = ["Amendment", "AmendmentRules", "Declined", "DeclinedFix", "SchemaCheck", "amendment"]


class Declined(StrEnum):
    """Why a fix that holds is not merged, beside `FieldFlaw`; stable strings, for logs."""

    OTHER_ISSUER = "other_issuer"
    """It was given by somebody else."""
    USERS_RULE = "users_rule"
    """The user's own rule refuses a field that it sets, or failed."""
    NO_SCHEMA = "no_schema"
    """Nobody knows which fields the operation has."""
    NOT_IN_SCHEMA = "field_not_in_schema"
    """It sets a field that the operation's schema does not declare."""
    NOT_ACCEPTED = "schema_refuses"
    """A type, an enumeration or another word of the schema does not accept what comes out."""
    NO_CANONICAL_FORM = "no_canonical_form"
    """What comes out could not be digested, so it could not be recorded."""
    TOO_LARGE = "request_too_large"
    """The request would pass its bound."""
    TOO_MANY = "too_many_fixes"
    """So many were merged before it."""
    NOT_CONFIRMED = "not_confirmed"
    """The user was asked, and did not say yes."""
    LAPSED = "lapsed_meanwhile"
    """It no longer held when the amendment was written down."""
    NOT_RECORDED = "not_recorded"
    """The ledger could not take it, and nothing is merged that is not on record."""
    NOT_WRITABLE = "not_writable"
    """The amended request could not be put into bytes."""


class SchemaCheck(Protocol):
    """Answers for one operation's schema. Pure; may be called from several threads."""

    def __call__(self, parameters: JsonObject, request: JsonObject, /) -> Declined | None:
        """What the schema has against a fix with these parameters that leads to this request.

        `NOT_IN_SCHEMA`, `NOT_ACCEPTED`, or None when it has nothing. It never raises.
        """
        ...


UsersRule: TypeAlias = "Callable[[str, str, object], bool]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AmendmentRules:
    """What may be merged into a request.

    Attributes:
        fields: which fields fixes may set; by default none with a sensitive name, and no address.
        refuses: the user's own rule: given an operation, a dotted path and the value it would get,
            whether that is refused. It refuses, too, by raising.
        most_fixes: fixes that are merged into one request.
        longest_bytes: how large the amended request may be, as JSON.
    """

    fields: FieldRules = field(default_factory=FieldRules)
    refuses: UsersRule | None = None
    most_fixes: int = 16
    longest_bytes: int = 64 * 1024

    def __post_init__(self) -> None:
        """Refuse bounds that would let nothing through."""
        for name in ("most_fixes", "longest_bytes"):
            if getattr(self, name) < 1:
                raise InvalidValue(name, getattr(self, name), "pass at least 1")


@dataclass(frozen=True, slots=True)
class DeclinedFix:
    """A fix that is not merged, and why."""

    fix: Fix
    reason: Declined | FieldFlaw


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A request as it was written and as it may be sent.

    Attributes:
        issuer: whose service it goes to.
        operation: what is asked for.
        before: the request's members as the caller wrote them.
        after: the same with what was merged.
        merged: the fixes that were merged, in order.
        declined: the fixes that hold and were not merged; those that change nothing are in neither.
    """

    issuer: str
    operation: str
    before: JsonObject
    after: JsonObject
    merged: tuple[Fix, ...] = ()
    declined: tuple[DeclinedFix, ...] = ()

    def without(self, reason: Declined) -> Amendment:
        """The request as it was written: everything that was merged is declined."""
        declined = tuple(DeclinedFix(fix, reason) for fix in self.merged)
        return replace(self, after=self.before, merged=(), declined=(*self.declined, *declined))


def amendment(
    request: JsonObject,
    fixes: Sequence[Fix],
    *,
    issuer: str,
    operation: str,
    rules: AmendmentRules,
    check: SchemaCheck | None,
) -> Amendment:
    """Merge the fixes that the rules and the schema allow.

    Args:
        request: the request's members as the caller wrote them; left as they are.
        fixes: those that hold for this request, oldest first; a later one overrides an earlier one.
        issuer: whose service the request goes to.
        operation: what is asked for.
        rules: what may be merged.
        check: answers for the operation's schema; None when there is none: nothing is merged.
    """
    made = Amendment(issuer=issuer, operation=operation, before=request, after=request)
    seen = fingerprint_of(request)
    merged: list[Fix] = []
    declined: list[DeclinedFix] = []
    for fix in fixes:
        candidate = amend(made.after, fix.parameters)
        found = fingerprint_of(candidate)
        if found is not None and found == seen:
            continue
        reason = _objection(made, fix, candidate, rules, check)
        if reason is None and found is None:
            reason = Declined.NO_CANONICAL_FORM
        if reason is None and len(merged) == rules.most_fixes:
            reason = Declined.TOO_MANY
        if reason is None:
            made, seen = replace(made, after=candidate), found
            merged.append(fix)
        else:
            declined.append(DeclinedFix(fix, reason))
    return replace(made, merged=tuple(merged), declined=tuple(declined))


def _objection(
    made: Amendment,
    fix: Fix,
    candidate: JsonObject,
    rules: AmendmentRules,
    check: SchemaCheck | None,
) -> Declined | FieldFlaw | None:
    if fix.record.issuer != made.issuer:
        return Declined.OTHER_ISSUER
    flaw = field_flaw(made.operation, fix.parameters, rules.fields)
    if flaw is not None:
        return flaw
    if _is_refused(made.operation, fix.parameters, rules.refuses):
        return Declined.USERS_RULE
    if check is None:
        return Declined.NO_SCHEMA
    return check(fix.parameters, candidate) or _excess(candidate, rules)


def _is_refused(operation: str, parameters: JsonObject, refuses: UsersRule | None) -> bool:
    if refuses is None:
        return False
    try:
        return any(refuses(operation, path, value) for path, value in leaves(parameters))
    except Exception:  # noqa: BLE001 - a rule that fails has not allowed anything
        return True


def _excess(candidate: JsonObject, rules: AmendmentRules) -> Declined | None:
    try:
        size = len(encode(dict(candidate)))
    except InvalidValue:
        return Declined.NO_CANONICAL_FORM
    return Declined.TOO_LARGE if size > rules.longest_bytes else None
