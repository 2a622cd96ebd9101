"""What somebody says into a workspace, and who vouches for it.

The evidence of a statement is issued as it is written, by whoever vouches for it: a receipt for
what it says, and one for each item that it rests on, as that is now. Nothing issues a receipt
later, when it is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Required, TypedDict

from lapse.admission import Epochs, WorkItem
from lapse.errors import InvalidValue
from lapse.ledger import (
    EVERYWHERE,
    Interval,
    JsonObject,
    Kind,
    Outcome,
    Receipt,
    Scope,
    Source,
    Stamp,
    digest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.ledger import Instant
    from lapse.runtime.workstate import Snapshot

__all__ = ["Changing", "Said", "Saying", "Vouched", "change", "say"]


class Changing(TypedDict, total=False):
    """What a later version of an item may say otherwise; what is left out stays as it was.

    Attributes:
        authority: what sort of speaker; below the old item's, it is written and disputed.
        supports: the dependencies that it is evidence for.
        rests_on: ids of the items that it rests on, as they are now.
        assumes: ids of the items whose slots it takes for granted, at what they are worth now.
        stamps: what else it depends on.
        valid: when it holds, in microseconds since 1970; from now on when left out.
        value: what its slot is worth by it; nothing but the text when left out.
        attributes: further state, a JSON object.
        observer: who vouches for it, here and now; nobody when left out.
        source: what the observer looked at.
        receipts: evidence that was issued elsewhere.
    """

    authority: str
    supports: Iterable[str]
    rests_on: Iterable[str]
    assumes: Iterable[str]
    stamps: Iterable[Stamp]
    valid: Interval | None
    value: str
    attributes: JsonObject
    observer: str
    source: Source | None
    receipts: Iterable[Receipt]


class Saying(Changing, total=False):
    """What goes with a statement, and with a version of one: see `Changing`.

    Attributes:
        slot: what it is about: a later statement of the slot is a version of this one.
        by: who says it.
        kind: what sort of statement; a fact when left out. An experience is its principal's alone.
        scope: who may see it and for which task; the tenant is the workspace's.
        purposes: for which purposes; for any that the scope allows when left out.
        replaces: ids of the items that it takes the place of; where the authority does not suffice,
            it is written and disputed.
        obligation: the obligation that is opened, or whose progress is told.
        required: the dependencies that an obligation needs.
        critical: those without which nothing may be shown.
        until_epoch: the first revision for which it no longer holds.
        item_id: its id, to repeat a call safely; made up when left out.
    """

    slot: Required[str]
    by: Required[str]
    kind: Kind
    scope: Scope
    purposes: Iterable[str]
    replaces: Iterable[str]
    obligation: str
    required: Iterable[str]
    critical: Iterable[str]
    until_epoch: int | None
    item_id: str | None


def say(text: str, saying: Saying) -> tuple[Said, Vouched, str | None]:
    """The statement, who vouches for it, and under which id it is to be written.

    Raises:
        InvalidValue: a text stands where a list of texts is asked for.
    """
    given: dict[str, Any] = dict(saying)
    vouched = _vouched(given)
    item_id: str | None = given.pop("item_id", None)
    return Said(text=text, **_listed(given)), vouched, item_id


def change(text: str, changing: Changing) -> tuple[dict[str, Any], Vouched]:
    """What a version says otherwise, and who vouches for it.

    Raises:
        InvalidValue: a text stands where a list of texts is asked for.
    """
    given: dict[str, Any] = dict(changing)
    vouched = _vouched(given)
    return {"text": text, "value": "", **_listed(given)}, vouched


def _vouched(given: dict[str, Any]) -> Vouched:
    return Vouched(
        observer=given.pop("observer", ""),
        source=given.pop("source", None),
        receipts=tuple(given.pop("receipts", ())),
    )


_LISTS = (
    "purposes",
    "supports",
    "rests_on",
    "assumes",
    "stamps",
    "replaces",
    "required",
    "critical",
)


def _listed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with tuples for lists; a text would be read as its letters."""
    made = dict(given)
    for name in _LISTS:
        if isinstance(made.get(name), str):
            raise InvalidValue(name, made[name], "pass a list of texts")
        if name in made:
            made[name] = tuple(made[name])
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """Who vouches for a statement as it is written.

    Attributes:
        observer: who; empty: nobody.
        source: what was looked at; None: the slot's name is all there is.
        receipts: further evidence, issued elsewhere.
    """

    observer: str = ""
    source: Source | None = None
    receipts: tuple[Receipt, ...] = ()

    def issued(self, said: Said, needed: Sequence[WorkItem], at: Instant) -> tuple[Receipt, ...]:
        """The receipts of a statement that rests on these items as they are."""
        if not self.observer:
            return self.receipts
        seen = self.source or Source.probe("statement", said.slot)
        bound = ((Source.record(item.id), item.digest()) for item in needed)
        own = ((seen, digest(said.text.encode())), *bound)
        return (
            *self.receipts,
            *(
                Receipt(
                    observer=self.observer,
                    source=source,
                    at=at,
                    digest=seen_digest,
                    outcome=Outcome.CONFIRMS,
                )
                for source, seen_digest in own
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A statement that is to be written; what each member means is `WorkItem`'s to say.

    Attributes:
        by: who writes it.
        rests_on: ids of the items that it rests on, as they are now.
        assumes: ids of the items whose slots it takes for granted, at what they are worth now.
        until_epoch: the first revision for which it no longer holds; None: not ended.
        valid: when it holds; None: from now on.
    """

    text: str
    slot: str
    by: str
    kind: Kind = Kind.FACT
    authority: str = ""
    scope: Scope = EVERYWHERE
    purposes: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    replaces: tuple[str, ...] = ()
    obligation: str = ""
    required: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    valid: Interval | None = None
    until_epoch: int | None = None
    value: str = ""
    attributes: JsonObject = field(default_factory=dict[str, Any], hash=False)

    def item(
        self, item_id: str, snapshot: Snapshot, tenant: str | None, vouched: Vouched, at: Instant
    ) -> WorkItem:
        """The item that says this in a workspace's next revision.

        Raises:
            InvalidValue: something that it may not hold, or names an item that has ended.
            UnknownRecord: it names an item that this workspace does not have.
        """
        needed = [snapshot.live(name, "rests_on") for name in self.rests_on]
        assumed = [snapshot.live(name, "assumes") for name in self.assumes]
        for name in self.replaces:
            snapshot.item(name, "replaces")
        scope = replace(self.scope, tenant=tenant)
        if self.kind is Kind.EXPERIENCE and scope.principal is None:
            scope = replace(scope, principal=self.by)
        stamps = (
            *self.stamps,
            *(Stamp(Source.record(item.id), item.digest()) for item in needed),
            *(item.as_premise() for item in assumed),
        )
        return WorkItem(
            id=item_id,
            kind=self.kind,
            slot=self.slot,
            text=self.text,
            writer=self.by,
            authority=self.authority,
            scope=scope,
            purposes=self.purposes,
            epochs=Epochs(snapshot.epoch + 1, self.until_epoch),
            valid=self.valid or Interval(at),
            supports=self.supports,
            stamps=stamps,
            replaces=self.replaces,
            obligation=self.obligation,
            required=self.required,
            critical=self.critical,
            receipts=vouched.issued(self, needed, at),
            value=self.value,
            attributes=self.attributes,
        )

    @classmethod
    def again(cls, item: WorkItem, by: str, authority: str) -> Said:
        """What an item said, for somebody to say it in its place."""
        return cls(
            text=item.text,
            slot=item.slot,
            by=by,
            kind=item.kind,
            authority=authority,
            scope=item.scope,
            purposes=item.purposes,
            supports=item.supports,
            rests_on=item.rests_on,
            stamps=tuple(s for s in item.stamps if s.source.kind != "record"),
            replaces=(item.id,),
            obligation=item.obligation,
            required=item.required,
            critical=item.critical,
            value=item.value,
            attributes=item.attributes,
        )
