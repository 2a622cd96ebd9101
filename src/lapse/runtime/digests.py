"""The map of versions that each issuer said last, so that it need not be said again.

What a response says in place of a map is read beside the very map that its own request named: two
requests may be under way, and their answers may overtake each other. Only in this process: after a
restart the first answer of each issuer has the whole map again.

Nothing is believed here. A response comes out as the one that would have carried the whole map, and
whoever judged those judges it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from lapse.contract import Envelope, Held, echo_of
from lapse.wire import Reason, Signed
from lapse.wire.digests import Have, Said, print_of
from lapse.wire.references import resolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.ledger import JsonObject
    from lapse.runtime.signatures import Stamp

__all__ = ["Digests", "Heard", "Kept", "Sent"]

_ISSUERS: Final = 256
"""Maps kept at once: the oldest goes first, and its issuer says the map once more."""

_SILENCES: Final = 2
"""Requests in a row that named a map in vain, before none does any more. One may have met a page of
another kind, with no contract in it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an issuer said last.

    Attributes:
        held: the map.
        location: where its contract endpoints are; None: it did not say.
        stamp: the signed statement that came with it; None: there was none.
    """

    held: Held
    location: str | None = None
    stamp: Signed | None = None

    @property
    def envelope(self) -> Envelope:
        """The map as a response says it."""
        return Envelope(
            table_versions=self.held.table_versions, rules_version=self.held.rules_version
        )


@dataclass(frozen=True, slots=True)
class Sent:
    """What one request said.

    Attributes:
        kept: what was kept when it left.
        have: what it said of that.
    """

    kept: Kept
    have: Have

    @classmethod
    def of(cls, kept: Kept, *, vouched: bool) -> Sent:
        """What to say.

        Args:
            kept: what is kept.
            vouched: whether the statement may be left out of the answer: it is believed, or nobody
                here looks at statements.
        """
        by = print_of(kept.stamp.signature) if kept.stamp and vouched else None
        return cls(kept, Have(kept.held.tag, by))


@dataclass(frozen=True, slots=True)
class Heard:
    """A response as it would be with the whole map.

    Attributes:
        envelope: what it says.
        stamp: the signed statement that it comes with or stands for.
        refused: why what it says in place of the map was not taken in; None: it was, or it says
            nothing in its place.
        short: whether it said something else than the map, and it was understood.
        unread: how many of its fixes refer to something else than what was sent and is held. They
            are as they were, so they name no table.
    """

    envelope: Envelope
    stamp: Stamp
    refused: str | None = None
    short: bool = False
    unread: int = 0


class Digests:
    """Keeps the maps. Safe to use from any thread.

    Args:
        speaks: whether anything is kept; without it every response has the whole map.
    """

    def __init__(self, *, speaks: bool = True) -> None:
        self._speaks = speaks
        self._kept: dict[str, Kept] = {}
        self._unanswered: dict[str, int] = {}
        self._misread: dict[str, int] = {}
        self._lock = Lock()

    def kept(self, issuer: str) -> Kept | None:
        """What an issuer said last; None: nothing, or it is not known any more.

        Nor is it where what stands for the map does not come through, as behind a proxy that takes
        header lines out: whoever names a map there hears neither. Nor where requests are rewritten
        on their way, so that fixes refer to others than were sent: there they are heard in full.
        """
        if max(self._unanswered.get(issuer, 0), self._misread.get(issuer, 0)) >= _SILENCES:
            return None
        return self._kept.get(issuer)

    def heard(
        self,
        issuer: str,
        sent: Sent | None,
        envelope: Envelope,
        said: Said | Reason | None,
        stamp: Stamp,
        request: JsonObject | None = None,
    ) -> Heard:
        """Read a response beside what its request said.

        Args:
            issuer: who answered.
            sent: what the request said; None: nothing.
            envelope: the contract members of the answer.
            said: what it says in place of a map.
            stamp: its signed statement.
            request: the members of the request, as they were sent; None: they are not known.
        """
        found = None if said is None else _understood(sent, said)
        if sent is not None and isinstance(said, Said) and isinstance(found, Held):
            if stamp is None and said.delta is None and sent.have.by is not None:
                stamp = sent.kept.stamp
            if envelope.table_versions is None:
                return self._short(issuer, sent, envelope, found, stamp, request)
        if envelope.table_versions is not None:
            return self._whole(issuer, envelope, envelope.table_versions, stamp)
        if sent is not None:
            self._missed(issuer, self._unanswered)
        if found is None:
            return Heard(envelope, stamp)
        return Heard(replace(envelope, rules_version=None), stamp, refused=str(found))

    def _short(
        self,
        issuer: str,
        sent: Sent,
        envelope: Envelope,
        held: Held,
        stamp: Stamp,
        request: JsonObject | None,
    ) -> Heard:
        signed = stamp if isinstance(stamp, Signed) else None
        kept = Kept(held, envelope.location or sent.kept.location, signed)
        self._keep(issuer, kept)
        self._unanswered.pop(issuer, None)
        found = [(said, resolved(said, held, request)) for said in envelope.suggestions]
        unread = sum(fix is None for _, fix in found)
        if unread:
            self._missed(issuer, self._misread)
        expanded = replace(
            envelope,
            suggestions=tuple(said if fix is None else fix for said, fix in found),
            table_versions=held.table_versions,
            rules_version=held.rules_version,
            location=kept.location,
        )
        return Heard(expanded, stamp, short=True, unread=unread)

    def _whole(
        self, issuer: str, envelope: Envelope, versions: Mapping[str, str], stamp: Stamp
    ) -> Heard:
        before = self._kept.get(issuer)
        if before is not None and before.held.says(versions, envelope.rules_version):
            held = before.held
        else:
            held = Held(versions, envelope.rules_version)
        signed = stamp if isinstance(stamp, Signed) else None
        self._keep(issuer, Kept(held, envelope.location, signed))
        return Heard(replace(envelope, table_versions=held.table_versions), stamp)

    def _missed(self, issuer: str, times: dict[str, int]) -> None:
        """A request named a map, and its answer was not understood: one more time of its kind."""
        with self._lock:
            self._kept.pop(issuer, None)  # so that the next answer has the whole map
            count = times.pop(issuer, 0) + 1
            if len(times) >= _ISSUERS:
                del times[next(iter(times))]
            times[issuer] = count

    def _keep(self, issuer: str, kept: Kept) -> None:
        if not self._speaks:
            return
        with self._lock:
            if self._kept.pop(issuer, None) is None and len(self._kept) >= _ISSUERS:
                del self._kept[next(iter(self._kept))]
            self._kept[issuer] = kept


def _understood(sent: Sent | None, said: Said | Reason) -> Held | str:
    """The map that a response stands for, or why there is none."""
    if isinstance(said, Reason):
        return said.value
    if sent is None or said.echo != echo_of(sent.have.tag):
        return "not_asked"
    if said.delta is None or said.to is None:
        return sent.kept.held
    return sent.kept.held.after(said.delta, said.to) or "root_mismatch"
