"""Declared policies: what a request must satisfy, said over reference tables.

A policy looks rows up, checks a requirement, and words the fix from what it looked up. Each row is
read through a `Reading` at the moment it is needed, so a fix rests on exactly the rows that decided
it; the request fields that decided it become the fix's `when`.

::

    Policy(
        id="assigned-code",
        operation="POST /v1/subscriptions",
        title="The plan's assigned promotion code is missing",
        detail="The plan has a code assigned to it, and the request carries another or none.",
        look_ups={"assigned": LookUp("active_csm_codes", Field("plan"))},
        require=Check(Field("promotion_code"), Test.EQUALS, Found("assigned", "code")),
        fix=Template("ADD_PROMOTION_CODE", {"promotion_code": Found("assigned", "code")}),
    )

A look-up that finds nothing makes the policy pass over the request: there is no row to break.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, assert_never, cast

from lapse.contract.feedback import Reading, Violation, leaks
from lapse.contract.messages import CacheHint
from lapse.contract.names import check_name
from lapse.contract.rules import member
from lapse.errors import InvalidValue
from lapse.ledger import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lapse.contract.messages import Suggestion
    from lapse.ledger import JsonObject

__all__ = [
    "Check",
    "Constant",
    "Field",
    "Found",
    "LookUp",
    "Operand",
    "Policy",
    "Rounded",
    "Template",
    "Test",
    "violations",
]


class _Absent:
    """What an operand gives when there is nothing there; null is something else."""

    __slots__ = ()


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Field:
    """A request field, by dotted path."""

    path: str


@dataclass(frozen=True, slots=True)
class Found:
    """A member of a row that was looked up, by dotted path; empty: the whole row."""

    look_up: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Rounded:
    """A numeric request field, rounded half to even to so many decimals."""

    path: str
    decimals: int


Operand = Field | Found | Constant | Rounded


class Test(StrEnum):
    """What a check asks of its subject."""

    __test__ = False  # not a test case, whatever pytest thinks of the name

    EQUALS = "equals"
    ONE_OF = "one_of"
    """It equals one of the elements of a list."""
    PRESENT = "present"
    """It is there and not null (argument true), or it is absent or null (argument false)."""
    KEY_OF = "key_of"
    """It is a key of the table that the argument names."""
    DECIMALS = "decimals"
    """It is a number with at most so many digits after the point."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question about one value.

    Attributes:
        subject: what is asked about.
        test: what is asked.
        argument: what it is compared with; for `KEY_OF` a table's name, for `PRESENT` a boolean,
            for `DECIMALS` a whole number, each as a `Constant`.
    """

    subject: Operand
    test: Test
    argument: Operand

    def __post_init__(self) -> None:
        """Refuse an argument that the test cannot use."""
        given = self.argument.value if isinstance(self.argument, Constant) else None
        match self.test:
            case Test.PRESENT if not isinstance(given, bool):
                raise InvalidValue("present", self.argument, "pass true or false, as a constant")
            case Test.KEY_OF if not isinstance(given, str):
                raise InvalidValue("key_of", self.argument, "pass a table's name, as a constant")
            case Test.DECIMALS if type(given) is not int or given < 0:
                raise InvalidValue("decimals", self.argument, "pass 0 or more, as a constant")
            case _:
                pass


@dataclass(frozen=True, slots=True)
class LookUp:
    """A row of a table, by a key that the request or an earlier look-up gives."""

    table: str
    key: Operand


@dataclass(frozen=True, slots=True)
class Template:
    """How a fix is worded.

    Attributes:
        type: the action.
        parameters: the members to merge into the request, by dotted path.
        table: the table named at Level 1; None: the one read last.
        cache_hint: None: cacheable if a row was read, else recompute.
    """

    type: str
    parameters: Mapping[str, Operand]
    table: str | None = None
    cache_hint: CacheHint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One validation of one operation.

    Attributes:
        id: a slug, or a whole URI; becomes the problem's `type`.
        operation: method and path, as ``POST /v1/subscriptions``.
        title: the same words for every violation.
        detail: what is wrong, without the answer.
        require: what must hold.
        when: checks that must all hold for the policy to apply.
        look_ups: the rows it may need, by a name of its own.
        fix: what to suggest; None: nothing can be suggested.
    """

    id: str
    operation: str
    title: str
    detail: str
    require: Check
    when: tuple[Check, ...] = ()
    look_ups: Mapping[str, LookUp] = field(default_factory=dict[str, LookUp])
    fix: Template | None = None

    def __post_init__(self) -> None:
        """Refuse a policy that could not be evaluated."""
        check_name("id", self.id)
        check_name("operation", self.operation)
        for name in (name for operand in self._operands() for name in _look_ups_in(operand)):
            if name not in self.look_ups:
                known = ", ".join(self.look_ups) or "none is declared"
                raise InvalidValue(f"policy {self.id}: look_up", name, f"name a look-up: {known}")
        self._check_order()

    def violation(self, request: JsonObject, reading: Reading) -> Violation | None:
        """What is wrong with a request; None: nothing, or the policy does not apply.

        Args:
            request: the request's members.
            reading: the tables; what it has read before is forgotten first.

        Raises:
            InvalidValue: a table that the policy reads is not loaded.
        """
        reading.forget()
        case = _Case(self, request, reading)
        if not all(case.holds(check) for check in self.when):
            return None
        case.missed = False  # a row that is not there may well be what `when` asks for
        if case.holds(self.require, subject_decides=False) or case.missed:
            return None
        fix = None if self.fix is None else case.suggestion(self.fix)
        suggestions = () if fix is None else (fix,)
        # The words were written when the rows were others; a request must not fail over them.
        leaky = fix is not None and leaks(self.detail, fix.parameters) is not None
        detail = "" if leaky else self.detail
        return Violation(policy=self.id, title=self.title, detail=detail, suggestions=suggestions)

    def tables(self) -> frozenset[str]:
        """The tables it may read."""
        checks = (*self.when, self.require)
        named = {
            c.argument.value
            for c in checks
            if isinstance(c.argument, Constant) and c.test is Test.KEY_OF
        }
        return frozenset(named) | {look_up.table for look_up in self.look_ups.values()}

    def _operands(self) -> Iterable[Operand]:
        for check in (*self.when, self.require):
            yield check.subject
            yield check.argument
        yield from (look_up.key for look_up in self.look_ups.values())
        if self.fix is not None:
            yield from self.fix.parameters.values()

    def _check_order(self) -> None:
        known: set[str] = set()
        for name, look_up in self.look_ups.items():
            for earlier in _look_ups_in(look_up.key):
                if earlier not in known:
                    remedy = f"look up {earlier!r} before {name!r}, which needs it"
                    raise InvalidValue(f"policy {self.id}: look_ups", name, remedy)
            known.add(name)


def _look_ups_in(operand: Operand) -> Iterable[str]:
    return (operand.look_up,) if isinstance(operand, Found) else ()


def violations(
    policies: Sequence[Policy],
    operation: str,
    request: JsonObject,
    reading: Reading,
    *,
    every: bool = False,
) -> tuple[Violation, ...]:
    """What is wrong with a request, in the order of the policies.

    Args:
        policies: all policies; those of other operations are passed over.
        operation: the operation asked for.
        request: the request's members.
        reading: the tables.
        every: whether to go on after the first violation.
    """
    found: list[Violation] = []
    for policy in policies:
        if policy.operation != operation:
            continue
        violation = policy.violation(request, reading)
        if violation is not None:
            found.append(violation)
            if not every:
                break
    return tuple(found)


class _Case:
    """One policy meeting one request: rows are read when they are first needed."""

    def __init__(self, policy: Policy, request: JsonObject, reading: Reading) -> None:
        self._policy = policy
        self._request = request
        self._reading = reading
        self._rows: dict[str, Any] = {}
        self._decided: dict[str, Any] = {}
        self.missed = False

    def holds(self, check: Check, *, subject_decides: bool = True) -> bool:
        """Whether a check holds. The field that a requirement is about does not decide the fix."""
        subject = self._value(check.subject, decides=subject_decides)
        argument = self._value(check.argument, decides=True)
        match check.test:
            case Test.PRESENT:
                return (subject is not ABSENT and subject is not None) is bool(argument)
            case Test.EQUALS:
                return _same(subject, argument)
            case Test.ONE_OF:
                listed = cast("list[object]", argument) if isinstance(argument, list) else []
                return any(_same(subject, one) for one in listed)
            case Test.KEY_OF:
                return isinstance(subject, str) and subject in self._reading[str(argument)]
            case Test.DECIMALS:
                return _decimals(subject) <= argument
        assert_never(check.test)

    def suggestion(self, template: Template) -> Suggestion | None:
        """The fix; None when one of its values is not there."""
        parameters: dict[str, Any] = {}
        for path, operand in template.parameters.items():
            value = self._value(operand, decides=True)
            if value is ABSENT:
                return None
            _place(parameters, path, value)
        return self._reading.suggest(
            template.type,
            parameters,
            table=template.table,
            when=self._decided,
            cache_hint=template.cache_hint,
        )

    def _value(self, operand: Operand, *, decides: bool) -> Any:
        match operand:
            case Constant(value):
                return value
            case Field(path):
                return self._field(path, decides=decides)
            case Found(name, path):
                return self._found(name, path)
            case Rounded(path, decimals):
                return _rounded(self._field(path, decides=decides), decimals)
        assert_never(operand)

    def _field(self, path: str, *, decides: bool) -> Any:
        there, value = member(self._request, path)
        if decides:
            self._decided[path] = value  # None when it is absent: the two are one in `when`
        return value if there else ABSENT

    def _found(self, name: str, path: str) -> Any:
        if name not in self._rows:
            look_up = self._policy.look_ups[name]
            key = self._value(look_up.key, decides=True)
            row = self._reading[look_up.table].get(key) if isinstance(key, str) else None
            self._rows[name] = row
        row = self._rows[name]
        if row is None:
            self.missed = True
            return ABSENT
        there, value = member(row, path)
        return value if there else ABSENT


def _same(one: object, other: object) -> bool:
    """Equality as JSON sees it: true is not 1, and 1 is 1.0."""
    if one is ABSENT or other is ABSENT or one != other:
        return False
    try:
        return canonical(one) == canonical(other)
    except InvalidValue:
        return False  # no canonical form: it equals nothing


def _decimals(value: object) -> float:
    """Digits after the point; infinitely many for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("inf")
    exponent = decimal.Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else float("inf")


def _rounded(value: object, decimals: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ABSENT
    return round(value, decimals)


def _place(parameters: dict[str, Any], path: str, value: object) -> None:
    *outer, last = path.split(".")
    here = parameters
    for name in outer:
        here = here.setdefault(name, {})
    here[last] = value
