"""What a signed statement about versions has to satisfy before anything is done about it.

A service signs one statement per state of its tables: who says it, to whom, the root of all
versions, a number that only grows, and until when it is meant to be believed. Here a statement is
held against what is known of its issuer. Nothing here verifies a signature or reads a clock: the
signature was checked before, and now is an argument.

The rules, in the order in which they are applied:

1. It is the expected issuer's, and meant for this audience (C-TRU-04, C-TRU-05).
2. Two contents under one epoch are a contradiction, whenever they were signed (C-TRU-09).
3. An older epoch with another content is a replay, or a service that went back (C-TRU-06, -07).
4. It is not from the future, does not live longer than agreed, and is not over (C-TRU-08).

What passes becomes what is known; `withheld` then says whether the issuer's records may be served.
Only a statement that passes ends a withholding: no time does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from lapse.contract.names import check_name
from lapse.errors import InvalidValue
from lapse.ledger import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapse.ledger import Instant

__all__ = [
    "Demand",
    "Distrust",
    "Known",
    "SignedState",
    "Statement",
    "Terms",
    "TrustKeeper",
    "accepted",
    "objection",
    "versions_root",
    "withheld",
]

_SECOND: Final = 1_000_000
"""Microseconds."""
_REMEMBERED: Final = 32
"""Past states kept per issuer: a contradiction is found among these, and the file stays small."""
_EVIDENCE: Final = 4
"""Contradictions kept per issuer: one is proof, and a liar must not fill the disk."""

T = TypeVar("T")


class Distrust(StrEnum):
    """Why a response counts as silence, or why records are withheld; stable strings, for logs."""

    UNSIGNED = "unsigned"
    """A signature is demanded and there is none."""
    UNREADABLE = "unreadable_stamp"
    """There is a stamp or a signature, and it cannot be read."""
    UNKNOWN_KEY = "unknown_key"
    """No pinned key has its id."""
    KEY_CHANGED = "key_changed"
    """The issuer was met with another key, which did not announce this one."""
    BAD_SIGNATURE = "bad_signature"
    OTHER_ISSUER = "other_issuer"
    OTHER_AUDIENCE = "other_audience"
    NOT_YET = "not_yet_valid"
    """It was issued later than now."""
    LIVES_TOO_LONG = "lives_too_long"
    """It would be believed for longer than the terms allow."""
    EXPIRED = "expired"
    """Its time is over: somebody shows an old state as the present one."""
    REPLAYED = "replayed"
    """An older statement with another content, shown again."""
    ROLLED_BACK = "rolled_back"
    """The issuer itself signs an older epoch than it did before."""
    EQUIVOCATED = "equivocated"
    """The issuer signed two contents under one epoch."""
    ROOT_MISMATCH = "root_mismatch"
    """The versions in the response are not those that were signed."""
    OUTRUN = "outrun"
    """The versions in the response are those of an earlier trusted statement: a reload came
    between the body and its stamp."""
    MAP_MISSING = "map_missing"
    """By trusted word something moved, and the response does not say what."""
    REUSED_VERSION = "reused_version"
    """Versions stayed, and the rows under them did not."""
    FROZEN = "frozen"
    """The last trusted statement is over, and none has followed."""
    CLOCK_BEHIND = "clock_behind"
    """The clock stands before the last trusted statement, so it cannot say whether that is over."""
    ANSWER_UNSIGNED = "answer_unsigned"
    """An answer to what changed that no trusted key signed."""


class Demand(StrEnum):
    """When a response without a trusted statement counts as silence."""

    ALWAYS = "always"
    """From the first response on."""
    ONCE_SEEN = "once_seen"
    """From the first trusted statement of the issuer on; until then it is taken at its word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a service signs about one state of its tables.

    Attributes:
        issuer: who says it, as an origin.
        audience: to whom: a tenant or a class of clients; empty: to everybody.
        root: what `versions_root` gives for the versions.
        content: a digest of the tables' rows, in hex; empty when the service does not say.
        epoch: grows with every state, and never falls.
        issued_at: when it was signed; whole seconds.
        expires_at: from when on it must not be believed.
    """

    issuer: str
    audience: str
    root: str
    content: str
    epoch: int
    issued_at: Instant
    expires_at: Instant

    @property
    def state(self) -> tuple[str, str]:
        """What it says of the tables, whenever it says it."""
        return self.root, self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a client demands of one issuer's statements.

    Attributes:
        issuer: the name that has to be signed.
        audience: the audience that has to be signed; empty: everybody.
        demand: when a response without a trusted statement counts as silence.
        keys: the public keys that are pinned for it, by id; empty: its key is trusted on first
            use.
        skew_us: how far the two clocks may be apart.
        longest_us: how long a statement may live; a stolen key or a frozen proxy reaches no
            further.
    """

    issuer: str
    audience: str = ""
    demand: Demand = Demand.ALWAYS
    keys: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    skew_us: int = 60 * _SECOND
    longest_us: int = 24 * 3600 * _SECOND

    def __post_init__(self) -> None:
        """Refuse terms that nothing could meet."""
        check_name("issuer", self.issuer)
        for name, value in (("skew_us", self.skew_us), ("longest_us", self.longest_us)):
            if value < 0:
                raise InvalidValue(name, value, "pass 0 or more microseconds")


@dataclass(frozen=True, slots=True)
class SignedState:
    """A state of the tables that a trusted statement was about.

    Attributes:
        epoch: its epoch.
        root: the root of its versions.
        content: the digest of its rows; empty when it was not said.
        proof: the statement as signed.
    """

    epoch: int
    root: str
    content: str
    proof: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of an issuer.

    Attributes:
        statement: the newest trusted statement; None when only a key is known.
        fresh_until: until when what it said may be acted on.
        past: trusted states, newest first.
        keys: the public keys that were trusted on first use or announced since, by id.
        reused_at: when versions were seen to name other rows than before; None: never.
        evidence: what proves that the issuer contradicted itself: two statements, as signed.
        quarantined: whether it did, and nobody has pardoned it.
    """

    statement: Statement | None = None
    fresh_until: Instant = 0
    past: tuple[SignedState, ...] = ()
    keys: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    reused_at: Instant | None = None
    evidence: tuple[str, ...] = ()
    quarantined: bool = False

    def contradicted(self, statement: Statement) -> SignedState | None:
        """What the issuer said under the statement's epoch, if it was something else."""
        said = ((p.root, p.content) == statement.state for p in self.past)
        pairs = zip(self.past, said, strict=True)
        return next((p for p, same in pairs if p.epoch == statement.epoch and not same), None)

    def once_said(self, root: str) -> bool:
        """Whether these versions were those of a trusted statement."""
        return any(state.root == root for state in self.past)

    def caught(self, statement: Statement, proof: str) -> Known:
        """The issuer contradicted itself: keep both proofs, and withhold what it vouched for."""
        before = self.contradicted(statement)
        both = f"{'' if before is None else before.proof} {proof}"
        kept = self.evidence if both in self.evidence else (*self.evidence, both)
        return replace(self, evidence=kept[-_EVIDENCE:], quarantined=True)

    def pardoned(self) -> Known:
        """Somebody has looked into it: the evidence stays, the quarantine ends."""
        return replace(self, quarantined=False)

    def trusting(self, keys: Mapping[str, bytes]) -> Known:
        """Trust these keys, too."""
        return replace(self, keys={**self.keys, **keys}) if keys else self


class TrustKeeper(Protocol):
    """Keeps what is known of issuers over restarts, outside the ledger.

    Atomicity: `update` reads, decides and writes as one step, also among processes, and returns
    once what was decided is durable. What `decide` returns unchanged need not be written.

    Failure: a `StoreError`; what was kept before still stands.

    Threading: any method may be called from any thread.
    """

    def known(self, issuer: str) -> Known | None:
        """What is known of an issuer now; None when it was never met. Cheap while unchanged."""
        ...

    def update(self, issuer: str, decide: Callable[[Known | None], tuple[Known | None, T]]) -> T:
        """Decide on what is known, and keep what comes of it; None forgets the issuer."""
        ...


def versions_root(table_versions: Mapping[str, str], rules_version: str | None) -> str:
    """One short name for all versions: SHA-256, in hex, of their RFC 8785 bytes.

    The first half of it is what the versions endpoint has as its tag (C-VER-05).
    """
    members: dict[str, object] = {"table_versions": dict(table_versions)}
    if rules_version is not None:
        members["rules_version"] = rules_version
    return sha256(canonical(members)).hexdigest()


def objection(
    known: Known | None, statement: Statement, terms: Terms, *, now: Instant
) -> Distrust | None:
    """Why a statement, whose signature is good, is not to be believed; None when it is."""
    if statement.issuer != terms.issuer:
        return Distrust.OTHER_ISSUER
    if statement.audience != terms.audience:
        return Distrust.OTHER_AUDIENCE
    if known is not None and (found := _against(known, statement)) is not None:
        return found
    if statement.issued_at > now + terms.skew_us:
        return Distrust.NOT_YET
    if not statement.issued_at < statement.expires_at <= statement.issued_at + terms.longest_us:
        return Distrust.LIVES_TOO_LONG
    return Distrust.EXPIRED if statement.expires_at <= now else None


def _against(known: Known, statement: Statement) -> Distrust | None:
    if known.contradicted(statement) is not None:
        return Distrust.EQUIVOCATED
    newest = known.statement
    # Servers of one service count apart: the same content under an older epoch is no older word.
    if newest is None or statement.epoch >= newest.epoch or statement.state == newest.state:
        return None
    later = statement.issued_at > newest.issued_at
    return Distrust.ROLLED_BACK if later else Distrust.REPLAYED


def accepted(known: Known | None, statement: Statement, *, proof: str, now: Instant) -> Known:
    """What is known after a statement to which there was no objection.

    Args:
        known: what was known before.
        statement: what was said.
        proof: the statement as signed.
        now: when it arrived.
    """
    before = Known() if known is None else known
    newest = before.statement
    if newest is None or _order(statement) > _order(newest):
        newest = statement
    seen = any(p.epoch == statement.epoch for p in before.past)
    state = SignedState(statement.epoch, *statement.state, proof)
    reused = not seen and any(
        p.root == statement.root and p.content and statement.content not in ("", p.content)
        for p in before.past
    )
    return replace(
        before,
        statement=newest,
        fresh_until=max(before.fresh_until, statement.expires_at),
        past=before.past if seen else (state, *before.past)[:_REMEMBERED],
        reused_at=now if reused else before.reused_at,
    )


def _order(statement: Statement) -> tuple[int, Instant]:
    return statement.epoch, statement.issued_at


def withheld(known: Known | None, terms: Terms, *, now: Instant) -> Distrust | None:
    """Why none of the issuer's records may be served now; None when they may."""
    if known is None or known.statement is None:
        return Distrust.UNSIGNED if terms.demand is Demand.ALWAYS else None
    if known.quarantined:
        return Distrust.EQUIVOCATED
    if now >= known.fresh_until:
        return Distrust.FROZEN
    if now < known.statement.issued_at - terms.skew_us:
        return Distrust.CLOCK_BEHIND
    return None
