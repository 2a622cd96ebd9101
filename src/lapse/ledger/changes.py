"""The only way anything happens: an append-only chain of changes.

A change has a header, which stays for ever, and one part per record it touches. A part's body can
be purged; its digest cannot, so the chain still verifies when content is gone. Digests are salted
per part, which keeps a short body from being guessed afterwards.

A change that advances a source covers every record under it at once: restamping a table of a
million rows is one change, not a million.

Draft a change, then `seal` it onto the head of the chain; a store appends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from lapse.errors import InvalidValue
from lapse.ledger.encoding import decode, digest, encode
from lapse.ledger.records import LIVE, Instant, Record, Status
from lapse.ledger.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Change", "ChangeKind", "Draft", "Head", "Part", "genesis", "seal"]

_FORM = 1
"""The digest's form; a later form gets a later number, so that old entries keep verifying."""


class ChangeKind(StrEnum):
    """What a change does. The kinds that lead to a status carry its name.

    ``applied`` says that a record was merged into a request before that was sent. It is no
    evidence, so it is no receipt; it finds active records alone: what is doubted is not applied.
    """

    WRITTEN = "written"
    WITNESSED = "witnessed"
    APPLIED = "applied"
    OBSERVED = "observed"
    ADVANCED = "advanced"
    SUSPENDED = "suspended"
    REINSTATED = "reinstated"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"
    DISPUTED = "disputed"
    EVICTED = "evicted"
    PURGED = "purged"

    @property
    def leads_to(self) -> Status | None:
        """The status a record has after this change; None when its status stays."""
        return _LEADS_TO.get(self)

    @property
    def may_find(self) -> frozenset[Status]:
        """The statuses in which this change may find a record; none for what is not about one."""
        return _MAY_FIND.get(self, _NONE)


_LEADS_TO = {
    ChangeKind.WRITTEN: Status.ACTIVE,
    ChangeKind.SUSPENDED: Status.SUSPENDED,
    ChangeKind.REINSTATED: Status.ACTIVE,
    ChangeKind.SUPERSEDED: Status.SUPERSEDED,
    ChangeKind.REVOKED: Status.REVOKED,
    ChangeKind.DISPUTED: Status.DISPUTED,
    ChangeKind.EVICTED: Status.EVICTED,
    ChangeKind.PURGED: Status.PURGED,
}

_MAY_FIND = {
    ChangeKind.WITNESSED: LIVE,
    ChangeKind.APPLIED: frozenset({Status.ACTIVE}),
    ChangeKind.SUSPENDED: frozenset({Status.ACTIVE}),
    ChangeKind.REINSTATED: frozenset({Status.SUSPENDED, Status.DISPUTED}),
    ChangeKind.DISPUTED: frozenset({Status.ACTIVE, Status.SUSPENDED}),
    ChangeKind.SUPERSEDED: LIVE,
    ChangeKind.REVOKED: LIVE,
    ChangeKind.EVICTED: LIVE,
    ChangeKind.PURGED: frozenset(Status),
}
_NONE: frozenset[Status] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """What a change says about one record.

    Attributes:
        record: the record's id.
        digest: SHA-256 of salt and body; it outlives them.
        body: JSON bytes as stored; None once purged.
        salt: random text; empty once purged.
    """

    record: str
    digest: str
    body: bytes | None
    salt: str

    @classmethod
    def of(cls, record: str, value: object, *, salt: str) -> Part:
        """Encode and digest a JSON value."""
        body = encode(value)
        return cls(record, digest(body, salt=salt), body, salt)

    @property
    def intact(self) -> bool:
        """Whether the body is what was digested; a purged one cannot be checked: it counts."""
        return self.body is None or digest(self.body, salt=self.salt) == self.digest

    def value(self) -> Any:
        """The decoded body; None once purged."""
        return None if self.body is None else decode(self.body)

    def erased(self) -> Part:
        """The tombstone: id and digest."""
        return Part(self.record, self.digest, None, "")


class Head(NamedTuple):
    """The end of a chain: how many changes it has and the digest of the last.

    A tuple, because every change that is applied makes one.
    """

    seq: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A change that has no place in the chain yet.

    Attributes:
        kind: what it does.
        at: when it was decided.
        reason: the reason code of the verdict behind it.
        actor: who decided: an engine's name, or a person's handle.
        source: the source that was observed or advanced; None for changes to records alone.
        version: that source's version now; None when the source is gone.
        parts: what is said about each record.
    """

    kind: ChangeKind
    at: Instant
    reason: str
    actor: str
    source: Source | None = None
    version: str | None = None
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a draft that could not be applied."""
        about_source = self.kind in (ChangeKind.OBSERVED, ChangeKind.ADVANCED)
        if about_source is (self.source is None):
            remedy = f"give a source to a change that moves one, and to no other ({self.kind})"
            raise InvalidValue("source", self.source, remedy)
        if about_source and self.parts:
            remedy = f"say what happens to records in a change of its own ({self.kind})"
            raise InvalidValue("parts", self.parts, remedy)
        if self.kind is ChangeKind.PURGED and any(part.body is not None for part in self.parts):
            raise InvalidValue("parts", self.parts, "pass tombstones: a purge repeats no content")
        if not about_source and not self.parts:
            raise InvalidValue("parts", self.parts, f"name the records that are {self.kind}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A draft in its place: after `previous`, with the digest of its header.

    The digest covers the link and the header, part digests included, and not the place's number:
    the links alone say the order, so a renumbered entry can be told from an altered one.
    """

    seq: int
    kind: ChangeKind
    at: Instant
    reason: str
    actor: str
    source: Source | None
    version: str | None
    parts: tuple[Part, ...]
    previous: str
    digest: str

    @property
    def head(self) -> Head:
        """The head of the chain that ends with this change."""
        return Head(self.seq, self.digest)

    @property
    def intact(self) -> bool:
        """Whether header and bodies are what was digested."""
        return self.digest == _header_digest(self, self.previous) and all(
            p.intact for p in self.parts
        )

    def without(self, records: Iterable[str]) -> Change:
        """The same change with the bodies about these records erased."""
        gone = set(records)
        return Change(
            seq=self.seq,
            kind=self.kind,
            at=self.at,
            reason=self.reason,
            actor=self.actor,
            source=self.source,
            version=self.version,
            parts=tuple(p.erased() if p.record in gone else p for p in self.parts),
            previous=self.previous,
            digest=self.digest,
        )

    def written_record(self, part: Part) -> Record | None:
        """The record that a WRITTEN change's part holds; None once purged."""
        value = part.value()
        return None if value is None else Record.from_json(part.record, value)


def genesis(ledger: str) -> Head:
    """The head of an empty chain; the ledger's id makes two empty ledgers different chains."""
    return Head(0, digest(encode(["lapse", _FORM, ledger])))


def seal(drafts: Sequence[Draft], head: Head) -> tuple[Change, ...]:
    """Put drafts in their places after a head, in order."""
    sealed: list[Change] = []
    for draft in drafts:
        change = Change(
            seq=head.seq + 1,
            kind=draft.kind,
            at=draft.at,
            reason=draft.reason,
            actor=draft.actor,
            source=draft.source,
            version=draft.version,
            parts=draft.parts,
            previous=head.digest,
            digest=_header_digest(draft, head.digest),
        )
        sealed.append(change)
        head = change.head
    return tuple(sealed)


def _header_digest(change: Draft | Change, previous: str) -> str:
    return digest(
        encode(
            [
                _FORM,
                previous,
                change.kind.value,
                change.at,
                change.reason,
                change.actor,
                None if change.source is None else list(change.source),
                change.version,
                [[part.record, part.digest] for part in change.parts],
            ]
        )
    )
