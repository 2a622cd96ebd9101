"""Tasks with one fix that is known to hold, for each way in which a fix changes a request.

Five invented operations, each with a JSON Schema, so that nothing is read out of a schema that a
planner was trained on. What a fix sets is drawn: a planner that has it has it from the fix.

===================  ======================================================================
add a field          the request lacks it, the schema allows it, the words do not mention it
rewrite a value      the request has another value, the words mention neither
conditional rewrite  the words ask for the other value, and name the condition
control              no fix: the request is right as the task has it
===================  ======================================================================

Every other fix of a kind sets two members, so that taking over half of it shows. A draw is a digest
of the seed and what is drawn: equal seeds give equal cases, everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import Fix, amend
from lapse.errors import InvalidValue
from lapse.judges.planning import Task
from lapse.judges.shapes import Shape
from lapse.ledger import Interval, Kind, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.ledger import JsonObject

__all__ = ["CONTROL", "Case", "cases"]

CONTROL: Final = "control"
"""What tasks without a fix are called."""

_CONSONANTS = "BCDFGHKLMNPRSTVWXZ"


@dataclass(frozen=True, slots=True)
class Case:
    """A task, the fix that holds for it, and the request that is right.

    Attributes:
        kind: how the fix changes the request: a `Shape`, or `CONTROL`.
        task: what to do.
        fix: None for a control.
        expected: the request with the fix in it and nothing else changed.
    """

    kind: str
    task: Task
    fix: Fix | None
    expected: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """An invented operation.

    Attributes:
        path: method and path.
        words: what a person would say, with `{given}` members filled in.
        wish: the same, asking for the values that a conditional fix replaces.
        given: members of every request, with what they may hold; None: a code is drawn.
        condition: the member that conditions look at.
        extra: members that only a fix adds.
        rewritten: members that a fix replaces; two of `given`.
    """

    path: str
    words: str
    wish: str
    given: dict[str, tuple[Any, ...] | None]
    condition: str
    extra: tuple[str, str]
    rewritten: tuple[str, str]


_OPERATIONS: Final = (
    _Operation(
        path="POST /bookings",
        words="Book a room for {guest}, {nights} nights.",
        wish="Book {guest} into room {room} with rate {rate}; the season is {season}.",
        given={
            "guest": ("Ines", "Tomek", "Aiko", "Bruno"),
            "nights": (1, 2, 3, 5),
            "season": ("low", "high", "fair"),
            "room": None,
            "rate": None,
        },
        condition="season",
        extra=("deposit_code", "house_key"),
        rewritten=("room", "rate"),
    ),
    _Operation(
        path="POST /shipments",
        words="Ship parcel {parcel}, {weight_grams} grams.",
        wish="Ship {parcel} from depot {depot} with carrier {carrier}; the zone is {zone}.",
        given={
            "parcel": None,
            "weight_grams": (250, 900, 1_400, 7_000),
            "zone": ("north", "island", "border"),
            "depot": None,
            "carrier": None,
        },
        condition="zone",
        extra=("customs_code", "seal"),
        rewritten=("depot", "carrier"),
    ),
    _Operation(
        path="PUT /devices/settings",
        words="Set up device {device} with an interval of {interval_seconds} seconds.",
        wish="Set {device} to profile {profile} on channel {channel}; the site is {site}.",
        given={
            "device": None,
            "interval_seconds": (5, 30, 60, 300),
            "site": ("roof", "cellar", "yard"),
            "profile": None,
            "channel": None,
        },
        condition="site",
        extra=("firmware_pin", "relay"),
        rewritten=("profile", "channel"),
    ),
    _Operation(
        path="POST /samples",
        words="Register sample {sample}, {volume_ml} ml.",
        wish="Register {sample} in tube {tube} with solvent {solvent}; the class is {hazard}.",
        given={
            "sample": None,
            "volume_ml": (2, 10, 25, 50),
            "hazard": ("none", "cold", "acid"),
            "tube": None,
            "solvent": None,
        },
        condition="hazard",
        extra=("permit", "cabinet"),
        rewritten=("tube", "solvent"),
    ),
    _Operation(
        path="POST /subscriptions",
        words="Subscribe {customer}, {seats} seats.",
        wish="Subscribe {customer} with token {token} in group {group}; the plan is {plan}.",
        given={
            "customer": None,
            "seats": (1, 3, 12, 40),
            "plan": ("start", "growth", "scale"),
            "token": None,
            "group": None,
        },
        condition="plan",
        extra=("promotion", "contract"),
        rewritten=("token", "group"),
    ),
)


def cases(kinds: Sequence[str], *, each: int, seed: int) -> tuple[Case, ...]:
    """As many cases of each kind, kinds taking turns.

    Args:
        kinds: shapes of fixes, and `CONTROL`.
        each: how many of each.
        seed: decides every draw.

    Raises:
        InvalidValue: a kind that there is not, or no case at all.
    """
    known = [*Shape, CONTROL]
    for kind in kinds:
        if kind not in known:
            raise InvalidValue("types", kind, f"name some of {', '.join(known)}")
    if each < 1 or not kinds:
        raise InvalidValue("per_type", each, "ask for at least one case of at least one type")
    return tuple(_case(kind, number, seed) for number, kind in product(range(each), kinds))


def _case(kind: str, number: int, seed: int) -> Case:
    operation = _OPERATIONS[number % len(_OPERATIONS)]

    def drawn(name: str, options: Sequence[Any] | None) -> Any:
        digest = sha256(f"{seed} {kind} {number} {name}".encode()).digest()
        if options is not None:
            return options[digest[0] % len(options)]
        letters = "".join(_CONSONANTS[byte % len(_CONSONANTS)] for byte in digest[:3])
        return f"{letters}-{int.from_bytes(digest[3:5]) % 900 + 100}"

    request = {name: drawn(name, options) for name, options in operation.given.items()}
    words = operation.wish if kind == Shape.CONDITIONAL_REWRITE else operation.words
    task = Task(
        operation=operation.path,
        request=request,
        words=words.format_map(request),
        schema=_schema(operation),
        key=f"{kind} {number}",
    )
    if kind == CONTROL:
        return Case(kind, task, None, request)
    members = operation.extra if kind == Shape.ADD_A_FIELD else operation.rewritten
    # Which of two members comes first takes turns, too; the operation itself changes every time.
    chosen = members if number % 2 else members[number // 2 % 2 :][:1]
    parameters = {name: drawn(f"{name}, mended", None) for name in chosen}
    conditions = [operation.condition]
    if kind == Shape.CONDITIONAL_REWRITE:
        conditions += chosen
    fix = _fix(
        f"{'ADD' if kind == Shape.ADD_A_FIELD else 'USE'}_{'_AND_'.join(chosen).upper()}",
        parameters,
        {name: request[name] for name in conditions},
        key=task.key,
    )
    return Case(kind, task, fix, amend(request, parameters))


def _fix(action: str, parameters: JsonObject, when: JsonObject, *, key: str) -> Fix:
    content = {"type": action, "parameters": parameters, "when": when, "request": None}
    return Fix.of(
        Record(id=f"preflight {key}", kind=Kind.FIX, slot=key, content=content, valid=Interval(0))
    )


def _schema(operation: _Operation) -> JsonObject:
    """A schema in which a fix may add members, and nobody has to."""
    kinds = {
        name: "integer" if options and isinstance(options[0], int) else "string"
        for name, options in operation.given.items()
    }
    kinds |= dict.fromkeys(operation.extra, "string")
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(operation.given),
        "additionalProperties": False,
    }
