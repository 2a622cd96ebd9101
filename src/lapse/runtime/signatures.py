"""Whose word about versions a client believes: keys, statements, and what is known of issuers.

A response that is not believed counts as silence: it evicts nothing, stores nothing, confirms
nothing. What is remembered stands, and is served for as long as the last trusted statement says;
after that it is withheld, until a trusted statement arrives (C-TRU-10, C-TRU-12).

::

    signatures = Signatures(keeper=TrustFile("memory.trust"), check=verifies)
    signatures.judged(issuer, envelope, read_http_stamp(headers), now=now)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from lapse.contract import (
    Demand,
    Distrust,
    Known,
    Statement,
    Terms,
    accepted,
    objection,
    versions_root,
    withheld,
)
from lapse.wire import Reason, Signed, SignedAnswer, read_signed_answer

if TYPE_CHECKING:
    from lapse.contract import Envelope, Moved, TrustKeeper
    from lapse.ledger import Instant, Verifier

    Stamp = Signed | Reason | None
    """What a response has: a statement, one that cannot be read, or none."""

__all__ = ["KnownInMemory", "Signatures"]

PublicCheck = Callable[[bytes, bytes, bytes], bool]
"""Whether a signature is that of a public key: takes key, message, signature."""

_BEHIND = (Distrust.MAP_MISSING, Distrust.OUTRUN, Distrust.ROOT_MISMATCH)
"""What a good signature over other versions than those in the response is taken for."""

_HMAC = "hmac-sha256"
_PUBLIC = "ed25519"


class KnownInMemory:
    """Implements `lapse.contract.TrustKeeper` for one process that may forget."""

    def __init__(self) -> None:
        self._held: dict[str, Known] = {}
        self._lock = Lock()

    def known(self, issuer: str) -> Known | None:
        """What is known of an issuer now; None when it was never met."""
        return self._held.get(issuer)

    def update(
        self, issuer: str, decide: Callable[[Known | None], tuple[Known | None, Any]]
    ) -> Any:
        """Decide on what is known, and keep what comes of it; None forgets the issuer."""
        with self._lock:
            after, result = decide(self._held.get(issuer))
            if after is None:
                self._held.pop(issuer, None)
            else:
                self._held[issuer] = after
            return result


@dataclass(frozen=True, slots=True)
class _Last:
    """The last response of an issuer that was believed."""

    signed: Signed
    table_versions: Mapping[str, str] | None
    rules_version: str | None


class Signatures:
    """Judges signed statements. Safe to use from any thread.

    Args:
        keeper: keeps what is known of issuers.
        check: verifies a signature with a public key; None: no public keys are used.
        verifier: verifies signatures made with a secret that both sides share; None: none are.
        terms: what is demanded of an issuer, by the name that the memory has for it.
        otherwise: what is demanded of every other issuer; its `issuer` is replaced by the name.
    """

    def __init__(
        self,
        *,
        keeper: TrustKeeper,
        check: PublicCheck | None = None,
        verifier: Verifier | None = None,
        terms: Mapping[str, Terms] | None = None,
        otherwise: Demand = Demand.ONCE_SEEN,
    ) -> None:
        self._keeper = keeper
        self._check = check
        self._verifier = verifier
        self._terms = dict(terms or {})
        self._otherwise = otherwise
        self._last: dict[str, _Last] = {}
        self._behind: set[str] = set()
        self._frozen: dict[str, Statement | None] = {}

    def terms(self, issuer: str) -> Terms:
        """What is demanded of an issuer."""
        return self._terms.get(issuer) or Terms(issuer=issuer, demand=self._otherwise)

    def known(self, issuer: str) -> Known | None:
        """What is known of an issuer: its keys, its last statement, evidence against it."""
        return self._keeper.known(issuer)

    def forget(self, issuer: str) -> None:
        """Meet an issuer anew, keys and all: for when it lost its key and says so elsewhere."""
        self._keeper.update(issuer, lambda _: (None, None))
        self._last.pop(issuer, None)

    def pardon(self, issuer: str) -> None:
        """End the quarantine of an issuer that contradicted itself; the evidence is kept."""
        self._keeper.update(issuer, lambda k: (None if k is None else k.pardoned(), None))

    def demands(self, issuer: str) -> bool:
        """Whether a response of this issuer without a trusted statement counts as silence."""
        terms = self.terms(issuer)
        if terms.demand is Demand.ALWAYS or terms.keys:
            return True
        known = self._keeper.known(issuer)
        return known is not None and (known.statement is not None or bool(known.keys))

    # -- taking in ---------------------------------------------------------------------------

    def judged(
        self, issuer: str, envelope: Envelope, stamp: Stamp, *, now: Instant
    ) -> Distrust | None:
        """Why a response counts as silence; None when it may be taken in.

        Raises:
            StoreError: what is known could not be read or kept; take the response for silence.
        """
        if stamp is None:
            return Distrust.UNSIGNED if _speaks(envelope) and self.demands(issuer) else None
        if isinstance(stamp, Reason):
            return Distrust.UNREADABLE
        terms = self.terms(issuer)
        if self.is_last(issuer, envelope, stamp, now=now):
            return None
        keys = self._keys(self._keeper.known(issuer), stamp, terms)
        if isinstance(keys, Distrust):
            return keys
        found = self._keeper.update(
            issuer, lambda known: _decided(known, envelope, stamp, terms, keys, now)
        )
        if found is None:
            versions = envelope.table_versions, envelope.rules_version
            self._last[issuer] = _Last(stamp, *versions)
            self._behind.discard(issuer)
            self._frozen.pop(issuer, None)
        elif found in _BEHIND and self._is_news(issuer, stamp.statement):
            self._behind.add(issuer)
        elif found is Distrust.EQUIVOCATED:
            self._last.pop(issuer, None)
        return found

    def _is_news(self, issuer: str, statement: Statement) -> bool:
        """Whether, by trusted word, something moved of which the versions have not arrived."""
        known = self._keeper.known(issuer)
        newest = None if known is None else known.statement
        return newest is not None and newest.epoch < statement.epoch

    def is_last(self, issuer: str, envelope: Envelope, stamp: Stamp, *, now: Instant) -> bool:
        """Whether it is what was believed last, word for word, and not over. Reads no file."""
        last = self._last.get(issuer)
        if last is None or not isinstance(stamp, Signed):
            return False
        if envelope.suggestions and envelope.table_versions is None:
            return False  # nothing signed says at which versions they hold
        said = stamp.statement
        return (
            (last.signed is stamp or last.signed == stamp)
            and last.rules_version == envelope.rules_version
            and (
                last.table_versions is envelope.table_versions
                or last.table_versions == envelope.table_versions
            )
            and said.issued_at - self.terms(issuer).skew_us <= now < said.expires_at
        )

    def _keys(
        self, known: Known | None, signed: Signed, terms: Terms
    ) -> Mapping[str, bytes] | Distrust:
        """The keys to trust from here on besides those known, or why the signature does not count.

        A key vouches for those it announces, unless keys are pinned: then nobody adds to them.
        """
        if signed.algorithm == _HMAC and self._verifier is not None:
            good = self._verifier.verify(signed.key, signed.message, signed.signature)
            return {} if good else Distrust.BAD_SIGNATURE
        if signed.algorithm != _PUBLIC or self._check is None:
            return Distrust.UNKNOWN_KEY
        trusted = terms.keys or ({} if known is None else known.keys)
        public = trusted.get(signed.key) if trusted else signed.offered.get(signed.key)
        if public is None:
            return Distrust.KEY_CHANGED if trusted and not terms.keys else Distrust.UNKNOWN_KEY
        if not self._check(public, signed.message, signed.signature):
            return Distrust.BAD_SIGNATURE
        if terms.keys:
            return {}
        # A known id keeps its key, whatever is announced under it.
        return {**signed.offered, **trusted, signed.key: public}

    def witness(self, issuer: str, signed: Signed, *, now: Instant) -> Distrust | None:
        """Hold another client's statement of an issuer against what is known here.

        It teaches nothing; it may prove that the issuer tells its clients different things.

        Raises:
            StoreError: the proof could not be kept.
        """
        terms = self.terms(issuer)
        known = self._keeper.known(issuer)
        if known is None:
            return None
        keys = self._keys(known, signed, terms)
        if isinstance(keys, Distrust):
            return keys
        found = objection(known, signed.statement, terms, now=now)
        if found is Distrust.EQUIVOCATED:
            self._keeper.update(issuer, lambda k: (_caught(k, signed), None))
            self._last.pop(issuer, None)
        return found

    def vouches(
        self, issuer: str, question: Moved, answer: Mapping[str, Any], *, now: Instant
    ) -> bool:
        """Whether an answer to what changed may be acted on.

        It has to be signed like the versions, and speak of a state that is not older than the one
        that was asked about (C-TRU-16).
        """
        if not self.demands(issuer):
            return True
        signed = read_signed_answer(answer)
        known, terms = self._keeper.known(issuer), self.terms(issuer)
        if not isinstance(signed, SignedAnswer) or withheld(known, terms, now=now) is not None:
            return False
        said = None if known is None else known.statement
        if (signed.issuer, signed.audience) != (terms.issuer, terms.audience):
            return False
        present = said is not None and signed.epoch >= said.epoch
        return (present or answer.get("version") == question.now) and self._is_by_known(
            known, signed, terms
        )

    def _is_by_known(self, known: Known | None, signed: SignedAnswer, terms: Terms) -> bool:
        if signed.algorithm == _HMAC and self._verifier is not None:
            return self._verifier.verify(signed.key, signed.message, signed.signature)
        trusted = terms.keys or ({} if known is None else known.keys)
        public = trusted.get(signed.key)
        if public is None or self._check is None or signed.algorithm != _PUBLIC:
            return False
        return self._check(public, signed.message, signed.signature)

    # -- giving out --------------------------------------------------------------------------

    def withheld(self, issuer: str, *, now: Instant) -> Distrust | None:
        """Why none of an issuer's records may be served now; None when they may.

        What was withheld because a statement was over stays so until another one is believed, even
        if the clock is set back.
        """
        if issuer in self._behind:
            return Distrust.MAP_MISSING
        known = self._keeper.known(issuer)
        statement = None if known is None else known.statement
        if issuer in self._frozen and self._frozen[issuer] == statement:
            return Distrust.FROZEN
        found = withheld(known, self.terms(issuer), now=now)
        if found is Distrust.FROZEN:
            self._frozen[issuer] = statement
        return found


def _speaks(envelope: Envelope) -> bool:
    """Whether a response says anything that could be acted on."""
    said = (envelope.table_versions, envelope.rules_version)
    return bool(envelope.suggestions) or said != (None, None)


def _decided(
    known: Known | None,
    envelope: Envelope,
    signed: Signed,
    terms: Terms,
    keys: Mapping[str, bytes],
    now: Instant,
) -> tuple[Known | None, Distrust | None]:
    """What is known after a statement whose signature is good, and why it is not believed."""
    statement = signed.statement
    found = objection(known, statement, terms, now=now)
    if found is Distrust.EQUIVOCATED:
        return _caught(known, signed), found
    if known is not None and known.quarantined:
        return known, Distrust.EQUIVOCATED
    if found is None:
        found = _unfit(known, envelope, statement)
    if found is not None:
        return known, found
    after = accepted(known, statement, proof=signed.proof, now=now)
    return after.trusting({k: v for k, v in keys.items() if after.keys.get(k) != v}), None


def _caught(known: Known | None, signed: Signed) -> Known:
    return (Known() if known is None else known).caught(signed.statement, signed.proof)


def _unfit(known: Known | None, envelope: Envelope, statement: Statement) -> Distrust | None:
    """Whether the versions in a response are those that were signed."""
    if envelope.table_versions is None:
        newest = None if known is None else known.statement
        same = newest is not None and newest.state == statement.state
        return None if same and not envelope.suggestions else Distrust.MAP_MISSING
    root = versions_root(envelope.table_versions, envelope.rules_version)
    if root == statement.root:
        return None
    outrun = known is not None and known.once_said(root)
    return Distrust.OUTRUN if outrun else Distrust.ROOT_MISMATCH
