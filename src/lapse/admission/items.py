"""Work-state items: what a ledger record says when it is read as part of a shared workspace.

A `WorkItem` is a record and nothing beside it: `WorkItem.of` reads one, `record` writes one, and
the two are inverse. Items carry state. A member that would carry a plan is refused, because
whatever returns with a view is evidence and never an instruction.

::

    hotel = WorkItem(
        id=ids.new(), kind=Kind.FACT, slot="trip/hotel", text="Riverside is booked for 282 dollars",
        writer="A2", scope=Scope(task="trip"), epochs=Epochs(5), valid=Interval(now),
        supports=("hotel",), replaces=(sunrise.id,), receipts=(confirmation,),
    )
    writing(state, hotel.record(), at=now, reason="booked", actor="A2", salt=ids.new())
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from lapse.errors import InvalidValue
from lapse.ledger import (
    EVERYWHERE,
    Interval,
    JsonObject,
    Kind,
    Receipt,
    Record,
    Scope,
    Source,
    Stamp,
    Status,
    canonical,
    digest,
    encode,
    vector,
)

__all__ = ["LONGEST_TEXT", "LONGEST_VALUE", "Epochs", "WorkItem"]

LONGEST_TEXT = 4096
"""Characters that one item may have, as in the source text's implementation."""

LONGEST_VALUE = 256
"""Characters that a value may have: it is compared, and it is no second text."""

_WORK = frozenset({Kind.FACT, Kind.FRONTIER, Kind.OBLIGATION, Kind.CONSTRAINT, Kind.EXPERIENCE})
_SERVING = frozenset({Kind.FRONTIER, Kind.OBLIGATION})
"""The kinds that name an obligation: one opens it, the other says how far it got."""

_PLANS = frozenset(
    {
        "action",
        "actions",
        "instructions",
        "next_action",
        "next_actions",
        "plan",
        "plan_steps",
        "steps",
        "tool_calls",
        "tools",
        "workflow",
    }
)
"""Names of members that would carry a plan; state has none of them."""

_EXACT = 2**53 - 1
"""The largest whole number that every language reads exactly."""

_FORM = "work"
"""The member of a record's content that makes it a work-state item."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """For which revisions of the workspace something holds: from `since`, before `until`.

    Attributes:
        since: the revision it was written in; 0 or more.
        until: the first revision for which it no longer holds; None: not ended.
    """

    since: int
    until: int | None = None

    def __post_init__(self) -> None:
        """Refuse revisions that nobody could count."""
        if self.since < 0:
            raise InvalidValue("since", self.since, "pass a revision, 0 or more")
        if self.until is not None and self.until < self.since:
            raise InvalidValue("until", self.until, f"pass a revision from {self.since} on")

    def holds_at(self, epoch: int) -> bool:
        """Whether the revision lies inside."""
        return self.since <= epoch and (self.until is None or epoch < self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One statement of the shared workspace, or of an agent's own experience.

    Names in `purposes`, `supports`, `replaces`, `required` and `critical` are kept sorted and once.

    Attributes:
        id: the record's id.
        kind: `FACT`, `FRONTIER`, `OBLIGATION`, `CONSTRAINT` or `EXPERIENCE`.
        slot: its identity: two items of one slot are versions of one statement.
        text: the statement, at most `LONGEST_TEXT` characters.
        writer: the principal who wrote it.
        authority: what sort of statement it is (``user``, ``tool``, ``agent``, ``inference``, …),
            given by whoever let it be written; a policy ranks these names.
        scope: who may see it (tenant, principal, role) and for what it is (task, purpose).
        purposes: for which purposes; empty: for any that the scope allows.
        epochs: the revisions of the workspace for which it holds; `since` is when it was written.
        valid: when it holds, by the wall clock.
        supports: ids of the dependencies that it is evidence for; an obligation or a frontier is
            evidence for none.
        stamps: what it depends on; another item is stamped at that item's `digest`, a premise at
            what its slot was worth.
        replaces: ids of the items that it says it supersedes.
        obligation: the obligation that is opened, or whose progress is told; else empty.
        required: the dependencies that an obligation needs; only of obligations.
        critical: those among them without which nothing may be shown.
        receipts: the evidence, issued when it was written or observed.
        status: the record's status.
        value: what its slot is worth by it, at most `LONGEST_VALUE` characters: what others who
            take the slot for granted compare, and all that two items have to share to say the same.
            Empty: the text is all there is.
        attributes: further state, a JSON object of at most `LONGEST_TEXT` bytes.
    """

    id: str
    kind: Kind
    slot: str
    text: str
    writer: str
    epochs: Epochs
    valid: Interval
    authority: str = ""
    scope: Scope = EVERYWHERE
    purposes: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    replaces: tuple[str, ...] = ()
    obligation: str = ""
    required: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    status: Status = Status.ACTIVE
    value: str = ""
    attributes: JsonObject = field(default_factory=dict[str, Any], hash=False)
    _digest: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Put names in order, and refuse what could not be judged later."""
        for name in ("purposes", "supports", "replaces", "required", "critical"):
            object.__setattr__(self, name, _once(getattr(self, name)))
        object.__setattr__(self, "stamps", vector(self.stamps))
        if self.kind not in _WORK:
            raise InvalidValue("kind", self.kind.value, "pass a kind of work state; a fix is none")
        for name in ("id", "slot", "text", "writer"):
            if not getattr(self, name):
                raise InvalidValue(name, "", "pass a text that is not empty")
        if len(self.text) > LONGEST_TEXT:
            shown = f"{len(self.text)} characters"
            raise InvalidValue("text", shown, f"split it: {LONGEST_TEXT} characters at most")
        if len(self.value) > LONGEST_VALUE:
            shown = f"{len(self.value)} characters"
            raise InvalidValue("value", shown, f"name it in {LONGEST_VALUE} characters at most")
        sources = {stamp.source for stamp in self.stamps}
        if self.id in self.replaces or Source.record(self.id) in sources:
            raise InvalidValue("id", self.id, "name other items in replaces and stamps")
        if Source.premise("", self.slot) in sources:
            raise InvalidValue("stamps", self.slot, "assume other slots than the one it states")
        self._check_obligation()
        if self.attributes:
            _check_attributes(self.attributes)

    def _check_obligation(self) -> None:
        if (self.kind in _SERVING) is not bool(self.obligation):
            remedy = "name the obligation of an obligation or frontier, and of nothing else"
            raise InvalidValue("obligation", self.obligation, remedy)
        if self.supports and self.kind in _SERVING:
            remedy = "leave it out: what is owed, and how far it got, stands in for no evidence"
            raise InvalidValue("supports", self.supports, remedy)
        if self.required and self.kind is not Kind.OBLIGATION:
            raise InvalidValue("required", self.required, "only an obligation requires anything")
        if not set(self.critical) <= set(self.required):
            raise InvalidValue("critical", self.critical, "pass some of the required dependencies")

    @property
    def moment(self) -> tuple[int, int]:
        """Its place in time: revision, then wall clock; items are later or earlier by this."""
        return self.epochs.since, self.valid.since

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The ids of the items that it depends on."""
        return tuple(stamp.source.name for stamp in self.stamps if stamp.source.kind == "record")

    @property
    def assumes(self) -> tuple[tuple[str, str | None], ...]:
        """The slots of this workspace that it takes for granted, each at what it was worth."""
        return tuple(
            (stamp.source.name, stamp.version)
            for stamp in self.stamps
            if stamp.source.kind == "premise" and not stamp.source.issuer
        )

    @property
    def states(self) -> str:
        """What its slot is worth by it: its value, or the SHA-256 of its text, in hex."""
        return self.value or digest(self.text.encode())

    def as_premise(self) -> Stamp:
        """The stamp of an item that takes this statement for granted, whoever makes it again."""
        return Stamp(Source.premise("", self.slot), self.states)

    def with_status(self, status: Status) -> WorkItem:
        """The same item in another status."""
        if status is self.status:
            return self
        other = replace(self, status=status)
        object.__setattr__(other, "_digest", self._digest)  # a status is no part of it
        return other

    def digest(self) -> str:
        """SHA-256, in hex, of what it says, in RFC 8785 form; receipts and status do not count."""
        if not self._digest:
            form = canonical if self.attributes or self._counts_far() else encode
            object.__setattr__(self, "_digest", digest(form([self.id, self.said()])))
        return self._digest

    def _counts_far(self) -> bool:
        """Whether a number is too large for RFC 8785; without one, compact JSON is the same."""
        numbers = (self.epochs.since, self.epochs.until, self.valid.since, self.valid.until)
        return any(number is not None and abs(number) > _EXACT for number in numbers)

    def said(self) -> dict[str, Any]:
        """What its digest covers beside the id: the record without receipts."""
        body = self.record().as_json()
        del body["receipts"]
        return body

    def as_json(self) -> dict[str, Any]:
        """The whole item: its record with id and status."""
        record = self.record()
        return {"id": self.id, "status": self.status.value, "record": record.as_json()}

    def record(self) -> Record:
        """The ledger record that says this."""
        return Record(
            id=self.id,
            kind=self.kind,
            slot=self.slot,
            content={
                "form": _FORM,
                "text": self.text,
                "writer": self.writer,
                "authority": self.authority,
                "purposes": list(self.purposes),
                "until_epoch": self.epochs.until,
                "supports": list(self.supports),
                "replaces": list(self.replaces),
                "obligation": self.obligation,
                "required": list(self.required),
                "critical": list(self.critical),
                "attributes": self.attributes,
                **({"value": self.value} if self.value else {}),
            },
            valid=self.valid,
            scope=self.scope,
            stamps=self.stamps,
            receipts=self.receipts,
            epoch=self.epochs.since,
            status=self.status,
        )

    @staticmethod
    def is_in(record: Record) -> bool:
        """Whether a record holds work state; fixes, tombstones and others' facts do not."""
        return record.content.get("form") == _FORM

    @classmethod
    def of(cls, record: Record) -> WorkItem:
        """Read a record that holds work state.

        Raises:
            InvalidValue: it does not; the message names the field.
        """
        match record.content:
            case {
                "form": "work",
                "text": str(text),
                "writer": str(writer),
                "authority": str(authority),
                "purposes": list(purposes),
                "until_epoch": (int() | None) as until,
                "supports": list(supports),
                "replaces": list(replaces),
                "obligation": str(obligation),
                "required": list(required),
                "critical": list(critical),
                "attributes": dict(attributes),
            }:
                return cls(
                    id=record.id,
                    kind=record.kind,
                    slot=record.slot,
                    text=text,
                    writer=writer,
                    authority=authority,
                    scope=record.scope,
                    purposes=_names("purposes", purposes),
                    epochs=Epochs(record.epoch, until),
                    valid=record.valid,
                    supports=_names("supports", supports),
                    stamps=record.stamps,
                    replaces=_names("replaces", replaces),
                    obligation=obligation,
                    required=_names("required", required),
                    critical=_names("critical", critical),
                    receipts=record.receipts,
                    status=record.status,
                    value=_text("value", record.content.get("value", "")),
                    attributes=attributes,
                )
            case _:
                raise InvalidValue("content", record.content, "pass what WorkItem.record() gives")


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names))) if names else ()


def _names(field_name: str, values: list[Any]) -> tuple[str, ...]:
    for value in values:
        if not isinstance(value, str):
            raise InvalidValue(field_name, value, "pass a list of texts")
    return tuple(values)


def _text(field_name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue(field_name, value, "pass a text")
    return value


def _check_attributes(attributes: JsonObject) -> None:
    _refuse_plans(attributes)
    size = len(canonical(attributes))  # a view could not carry what has no canonical form
    if size > LONGEST_TEXT:
        raise InvalidValue("attributes", f"{size} bytes", f"keep to {LONGEST_TEXT} bytes at most")


def _refuse_plans(attributes: JsonObject) -> None:
    waiting: list[Any] = [attributes]
    while waiting:
        match waiting.pop():
            case dict() as members:
                for name, value in members.items():
                    if str(name).lower() in _PLANS:
                        remedy = "leave it out: work state carries no plan and no tool"
                        raise InvalidValue("attributes", name, remedy)
                    waiting.append(value)
            case list() as values:
                waiting += values
            case _:
                pass
