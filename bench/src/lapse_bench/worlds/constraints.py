"""`api-constraints-v1`: a request must satisfy the constraint rows of its operation.

A table is an API, a row's key is ``METHOD path#in.param``, and the row says what the parameter must
satisfy. A request is flat, one member per parameter, named as in the key; a name with ``[]`` stands
for one item of a list. null means: not given.

The service is strict:

1. a parameter that has no row is refused (take it away);
2. a required parameter must be given as soon as what it lies in is given or required itself;
3. a value must satisfy its row (type, enum, minimum, maximum, maxLength, pattern, format).

Each objection names one parameter and comes with a value that its row accepts. The value is good
whatever else the request says, so `when` is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.traces.thinning import share_of
from lapse_bench.worlds.examples import accepts, example_of
from lapse_bench.worlds.objections import Objection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from lapse.ledger import JsonObject
    from lapse_bench.traces import Event

__all__ = ["ApiConstraints"]

_FORGOTTEN: Final = 0.25
"""The share of required parameters that an agent leaves out of its first request."""

_CURIOSITY: Final = 8
"""How many optional parameters an agent fills in."""

_MOST_OBJECTIONS: Final = 48
"""Objections in one refusal; clients may stop reading at 64 suggestions."""

_GUESSES: Final[dict[str, Any]] = {
    "string": "example",
    "integer": 10_000,
    "number": 10_000,
    "boolean": True,
    "array": [],
    "object": {},
}
"""What an agent writes that knows a parameter's type and nothing else about it."""

Rows = dict[str, "JsonObject"]


class ApiConstraints:
    """The constraint rows of many APIs, and what they say about a request."""

    name = "api-constraints-v1"
    subject_member = None

    def __init__(self) -> None:
        self._operations: dict[tuple[str, str], Rows] = {}

    def apply(self, table: str, events: Sequence[Event]) -> None:
        """Let the rows of a table move on."""
        for event in events:
            operation, _, parameter = event.key.partition("#")
            at = (table, operation)
            if event.after is not None:
                self._operations.setdefault(at, {})[parameter] = event.after
                continue
            rows = self._operations.get(at, {})
            rows.pop(parameter, None)
            if not rows:
                self._operations.pop(at, None)

    def targets(self) -> Collection[tuple[str, str]]:
        """Every operation that has rows."""
        return self._operations.keys()

    def template(self, table: str, subject: str) -> dict[str, Any]:
        """What an agent sends that read the list of parameters and their types, and no further.

        A path's parameters name the agent's own things, so they are right on that day. A quarter
        of the other required ones is forgotten, a few optional ones are filled in, and every value
        is a guess by type. Which ones is decided by a hash of the names.
        """
        rows = self._operations[table, subject]
        leaves = _leaves(rows)

        def luck(parameter: str) -> float:
            return share_of(f"{table} {subject} {parameter}")

        request: dict[str, Any] = {}
        optional: list[str] = []
        for parameter in sorted(leaves):
            row = rows[parameter]
            if parameter.startswith("path."):
                request[parameter] = example_of(row)[1]
            elif not row.get("required"):
                optional.append(parameter)
            elif luck(parameter) >= _FORGOTTEN:
                request[parameter] = _guess(row)
        for parameter in sorted(optional, key=luck)[:_CURIOSITY]:
            request[parameter] = _guess(rows[parameter])
        return request

    def objections(
        self, table: str, subject: str, request: JsonObject
    ) -> tuple[Objection, ...] | None:
        """What stands against a request, at most so many at once."""
        rows = self._operations.get((table, subject))
        if rows is None:
            return None
        found = [
            _objection(subject, parameter, value) for parameter, value in _faults(rows, request)
        ]
        return tuple(found[:_MOST_OBJECTIONS])

    def accepts(self, table: str, subject: str, when: JsonObject, parameters: JsonObject) -> bool:
        """Whether every value of a fix is still accepted where it stands."""
        del when
        # An operation that is gone accepts no value; leaving one out is no worse than it was.
        rows = self._operations.get((table, subject), {})
        return all(_accepted(rows, parameter, value) for parameter, value in parameters.items())


def _accepted(rows: Rows, parameter: str, value: Any) -> bool:
    row = rows.get(parameter)
    if value is None:
        return row is None or not row.get("required")
    if row is None:
        return False
    return accepts(row, value) or not example_of(row)[0]


def _faults(rows: Rows, request: JsonObject) -> Iterator[tuple[str, Any]]:
    """Each parameter that is not right, with the value that would be."""
    given = {parameter: value for parameter, value in request.items() if value is not None}
    opened = set(given)
    for parameter in given:
        opened.update(_enclosing(parameter))
    containers = set(rows) - _leaves(rows)
    for parameter, value in given.items():
        row = rows.get(parameter)
        if row is None:
            yield parameter, None
        elif parameter not in containers and not accepts(row, value):
            possible, example = example_of(row)
            if possible:
                yield parameter, example
    for parameter, row in rows.items():
        if (
            parameter in opened
            or parameter in containers
            or not _demanded(rows, parameter, row, opened)
        ):
            continue
        possible, example = example_of(row)
        if possible:
            yield parameter, example


def _demanded(rows: Rows, parameter: str, row: JsonObject, opened: set[str]) -> bool:
    """Whether a parameter must be given: required, and so is what it lies in, or that is given."""
    if not row.get("required"):
        return False
    for outer in _enclosing(parameter):
        if outer in opened:
            return True
        outer_row = rows.get(outer)
        if outer_row is not None and not outer_row.get("required"):
            return False
    return True


def _objection(subject: str, parameter: str, value: Any) -> Objection:
    fault = "is not known here" if value is None else "is missing or holds what it may not"
    return Objection(
        type=f"SET {parameter}",
        parameters={parameter: value},
        when={},
        key=f"{subject}#{parameter}",
        detail=f"{parameter} {fault}",
    )


def _leaves(rows: Rows) -> set[str]:
    """The parameters that hold values: those that no other one lies in."""
    outer = {name for parameter in rows for name in _enclosing(parameter)}
    return {parameter for parameter in rows if parameter not in outer}


def _enclosing(parameter: str) -> Iterator[str]:
    """What a parameter lies in, from the inside out, down to `body` or `query`."""
    while True:
        if parameter.endswith("[]"):
            parameter = parameter.removesuffix("[]")
        else:
            parameter, dot, _ = parameter.rpartition(".")
            if not dot:
                return
        yield parameter


def _guess(row: JsonObject) -> Any:
    kind = row.get("type")
    return _GUESSES.get(kind.split("|")[0] if isinstance(kind, str) else "string", "example")
