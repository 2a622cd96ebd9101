"""Stands between what a service says and what a memory does about it.

Three things can be demanded, each by itself: that statements are signed (`signatures`), that an
issuer does not move things faster than a bound (`bounds`), and that fixes set only certain fields
(`fields`). Without any of them everything passes, and costs nothing.

What is held back here is never lost: a record in quarantine is withheld, not evicted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import (
    Distrust,
    Evict,
    Tally,
    admit,
    field_flaw,
    held,
    may_ask,
)
from lapse.ledger import Outcome
from lapse.runtime.events import Event
from lapse.runtime.telling import SUGGESTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract import (
        Bounds,
        Envelope,
        FieldRules,
        Lesson,
        Moved,
        Settlement,
        Suggestion,
    )
    from lapse.ledger import Clock, Instant, Record, State
    from lapse.runtime.signatures import Signatures, Stamp
    from lapse.runtime.telling import Telling

__all__ = ["Guard", "Trust", "Weighed"]

_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What a memory demands of the services it hears.

    Attributes:
        signatures: judges signed statements; None: everybody is taken at their word.
        bounds: how fast an issuer may move what is remembered; None: as fast as it likes.
        fields: what fixes may set; None: anything.
    """

    signatures: Signatures | None = None
    bounds: Bounds | None = None
    fields: FieldRules | None = None


@dataclass(frozen=True, slots=True)
class Weighed:
    """A settlement held against the bounds.

    Attributes:
        verdicts: what is to be carried out.
        tally: what the issuer has caused with that.
        begins: whether a quarantine begins with it.
    """

    verdicts: Sequence[Settlement]
    tally: Tally | None = None
    begins: bool = False


class Guard:
    """Applies a `Trust` for one memory, which calls it under its own lock where state is read."""

    __slots__ = ("_clock", "_tallies", "_telling", "_withheld", "trust")

    def __init__(self, trust: Trust | None, *, clock: Clock, telling: Telling) -> None:
        self.trust = Trust() if trust is None else trust
        self._clock = clock
        self._telling = telling
        self._tallies: dict[str, Tally] = {}
        self._withheld: dict[str, Distrust] = {}

    # -- taking in ---------------------------------------------------------------------------

    def judges(self, issuer: str, envelope: Envelope, stamp: Stamp) -> bool:
        """Whether a response has to be judged; that may read a file, finding out does not.

        It has not if it says word for word what was believed last, or no signatures are looked at.
        """
        signatures = self.trust.signatures
        if signatures is None:
            return False
        return not signatures.is_last(issuer, envelope, stamp, now=self._clock.now())

    def believed(
        self, issuer: str, operation: str, envelope: Envelope, stamp: Stamp
    ) -> Envelope | None:
        """What of a response may be taken in; None: it counts as silence, and it was said why.

        Args:
            issuer: who answered, by the memory's name for it.
            operation: what was asked for.
            envelope: the contract members of the answer.
            stamp: its signed statement, as read from the wire.

        Raises:
            StoreError: what is known of the issuer could not be read or kept.
        """
        signatures = self.trust.signatures
        if signatures is not None:
            now = self._clock.now()
            before = signatures.known(issuer)
            found = signatures.judged(issuer, envelope, stamp, now=now)
            if found is not None:
                self._tell("untrusted", found, issuer, now)
                return None
            self._notice_reuse(signatures, issuer, before and before.reused_at, now)
        return self.plain(issuer, operation, envelope)

    def _notice_reuse(
        self, signatures: Signatures, issuer: str, before: Instant | None, now: Instant
    ) -> None:
        known = signatures.known(issuer)
        if known is not None and known.reused_at != before:
            self._tell("withheld", Distrust.REUSED_VERSION, issuer, now)

    def plain(self, issuer: str, operation: str, envelope: Envelope) -> Envelope:
        """The response without the fixes that set what no fix may set."""
        rules = self.trust.fields
        if rules is None or not envelope.suggestions:
            return envelope
        kept: list[Suggestion] = []
        for suggestion in envelope.suggestions:
            flaw = field_flaw(operation, suggestion.parameters, rules)
            if flaw is None:
                kept.append(suggestion)
            else:
                self._tell("refused", flaw, issuer, self._clock.now(), where=SUGGESTIONS)
        return replace(envelope, suggestions=tuple(kept))

    def vouches(self, issuer: str, question: Moved, status: int, body: bytes) -> bool:
        """Whether an answer to what changed may be acted on, a refusal of the question included."""
        signatures = self.trust.signatures
        if signatures is None or not signatures.demands(issuer):
            return True
        now = self._clock.now()
        answer = _object(body) if status == _OK else {}
        if signatures.vouches(issuer, question, answer, now=now):
            return True
        self._tell("untrusted", Distrust.ANSWER_UNSIGNED, issuer, now)
        return False

    # -- bounds ------------------------------------------------------------------------------

    def weighed(
        self,
        state: State,
        lesson: Lesson,
        moves: Sequence[Moved],
        verdicts: Sequence[Settlement],
    ) -> Weighed:
        """A settlement as it may be carried out; it counts once `carried_out` is told."""
        bounds = self.trust.bounds
        if bounds is None or not verdicts:
            return Weighed(verdicts)
        tally = self._tally(lesson, bounds)
        fresh = held(state, moves)
        evictions = sum(len(v.ids) for v in verdicts if isinstance(v, Evict))
        after = admit(tally, bounds, moves=len(fresh), evictions=evictions)
        if after is not None:
            return Weighed(verdicts, after)
        return Weighed(fresh, replace(tally, holding=True), begins=not tally.holding)

    def carried_out(self, lesson: Lesson, weighed: Weighed) -> None:
        """Take note that a settlement is durable."""
        if weighed.tally is not None:
            self._tallies[lesson.issuer] = weighed.tally
        if weighed.begins:
            self._tell("quarantined", "too_fast", lesson.issuer, lesson.at)

    def askable(self, lesson: Lesson, questions: Sequence[Moved]) -> Sequence[Moved]:
        """The questions that the issuer may cause now."""
        bounds = self.trust.bounds
        if bounds is None or not questions:
            return questions
        before = self._tally(lesson, bounds)
        asked = questions[: may_ask(before, bounds)]
        after = before.asked(len(asked), of=len(questions))
        self._tallies[lesson.issuer] = after
        if after.exhausted and not (before.exhausted or before.holding):
            self._tell("quarantined", "too_many_questions", lesson.issuer, lesson.at)
        return asked

    def _tally(self, lesson: Lesson, bounds: Bounds) -> Tally:
        return self._tallies.get(lesson.issuer, Tally(since=lesson.at)).at(lesson.at, bounds)

    # -- giving out --------------------------------------------------------------------------

    def withholds(self, record: Record) -> bool:
        """Whether a record may not be served although nothing it rests on has moved."""
        signatures = self.trust.signatures
        if signatures is None:
            return False
        issuer, now = record.issuer, self._clock.now()
        found = signatures.withheld(issuer, now=now)
        if found is not None:
            if self._withheld.get(issuer) is not found:
                self._withheld[issuer] = found
                self._tell("withheld", found, issuer, now)
            return True
        self._withheld.pop(issuer, None)
        known = signatures.known(issuer)
        reused_at = None if known is None else known.reused_at
        # Only evidence from after the reuse speaks for it: the version alone no longer does.
        return reused_at is not None and not any(
            receipt.outcome is Outcome.CONFIRMS and receipt.at >= reused_at
            for receipt in record.receipts
        )

    def _tell(self, what: str, reason: str, issuer: str, at: Instant, *, where: str = "") -> None:
        self._telling.tell(Event(what=what, reason=reason, at=at, issuer=issuer, where=where))


def _object(body: bytes) -> dict[str, Any]:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
