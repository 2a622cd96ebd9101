"""Which parameters a service may set through a fix.

A fix is a parameter-injection channel (source text, section 6.5): whoever words the suggestion
words a part of the next request. These rules say which parts. They look at the suggestion alone;
whether the operation's schema knows the field is for whoever writes the request.

1. A field that decides where something goes, to whom, or how much, is never set by a fix unless it
   was allowed by name (C-TRU-20).
2. Neither is any field to which a web address is given.
3. Where the fields of an operation are listed, no other is set.
4. Parameters are bounded in size, and carry no control characters.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.errors import InvalidValue
from lapse.ledger import encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse.ledger import JsonObject

__all__ = ["SENSITIVE", "FieldFlaw", "FieldRules", "field_flaw", "leaves"]

SENSITIVE: Final = frozenset(
    {
        *("account", "amount", "bank", "beneficiary", "bic", "card", "charge", "iban", "payee"),
        *("payment", "price", "refund", "sum", "swift", "total", "transfer", "wallet"),
        *("address", "bcc", "cc", "customer", "destination", "email", "mail", "phone"),
        *("recipient", "recipients", "routing", "sender", "to", "user"),
        *("callback", "domain", "endpoint", "forward", "host", "redirect", "upload", "uri", "url"),
        *("webhook", "apikey", "auth", "authorization", "credential", "credentials", "login"),
        *("password", "role", "scope", "secret", "token"),
    }
)
"""Words in a field's name that say it moves money, addresses somebody or opens something."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ADDRESS = re.compile(
    r"^\s*(?:[a-z][a-z0-9+.-]*:)?//|^\s*(?:data|javascript|mailto):", re.IGNORECASE
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class FieldFlaw(StrEnum):
    """Why a fix is not taken in."""

    SENSITIVE = "sensitive_field"
    NOT_ALLOWED = "field_not_allowed"
    ADDRESS = "address_value"
    CONTROL = "control_characters"
    TOO_LARGE = "parameters_too_large"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRules:
    """What fixes may set.

    Attributes:
        fields: the fields, as dotted paths, that may be set for an operation; an operation that is
            not named here may have any field set that is not sensitive.
        allowed: fields, as dotted paths, that may be set although their names are sensitive.
        sensitive: the words that make a name sensitive.
        longest_bytes: how large the parameters of one fix may be, as JSON.
    """

    fields: Mapping[str, frozenset[str]] = field(default_factory=dict[str, "frozenset[str]"])
    allowed: frozenset[str] = frozenset()
    sensitive: frozenset[str] = SENSITIVE
    longest_bytes: int = 8 * 1024

    def __post_init__(self) -> None:
        """Refuse a bound that would let nothing through."""
        if self.longest_bytes < 1:
            raise InvalidValue("longest_bytes", self.longest_bytes, "pass at least 1")


def field_flaw(operation: str, parameters: JsonObject, rules: FieldRules) -> FieldFlaw | None:
    """What keeps a fix with these parameters from being taken in; None when nothing does."""
    try:
        if len(encode(dict(parameters))) > rules.longest_bytes:
            return FieldFlaw.TOO_LARGE
    except InvalidValue:
        return FieldFlaw.CONTROL
    listed = rules.fields.get(operation)
    flaws = (_leaf_flaw(path, value, listed, rules) for path, value in leaves(parameters))
    return next((flaw for flaw in flaws if flaw is not None), None)


def _leaf_flaw(
    path: str, value: object, listed: frozenset[str] | None, rules: FieldRules
) -> FieldFlaw | None:
    text = value if isinstance(value, str) else ""
    if listed is not None and path not in listed:
        return FieldFlaw.NOT_ALLOWED
    if _CONTROL.search(path) or _CONTROL.search(text):
        return FieldFlaw.CONTROL
    if path in rules.allowed:
        return None
    if rules.sensitive & _words(path):
        return FieldFlaw.SENSITIVE
    return FieldFlaw.ADDRESS if _ADDRESS.search(text) else None


def _words(path: str) -> set[str]:
    """The words of a name, and each two neighbours as one: api_key is apikey."""
    words = [word.lower() for word in _WORD.findall(path)]
    return {*words, *(one + two for one, two in pairwise(words))}


def leaves(parameters: JsonObject) -> Iterator[tuple[str, object]]:
    """Every value that is no object, with its dotted path; a list's items have the list's path."""
    pending: deque[tuple[str, object]] = deque(parameters.items())
    while pending:  # iterative, and bounded by the size of the parameters
        path, value = pending.popleft()
        if isinstance(value, dict) and value:
            members = cast("dict[str, Any]", value)
            pending += [(f"{path}.{name}", inner) for name, inner in members.items()]
        elif isinstance(value, list) and value:
            pending += [(path, inner) for inner in cast("list[object]", value)]
        else:
            yield path, value
