"""What the ledger asks of the outside world. Implementations live in `storage` and `signing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from lapse.ledger.chain import AnchoredHead
    from lapse.ledger.changes import Change, Head
    from lapse.ledger.records import Instant
    from lapse.ledger.sources import Source
    from lapse.ledger.state import State

__all__ = ["Anchor", "Clock", "Ids", "Signer", "Store", "Verifier"]


class Store(Protocol):
    """Where a ledger is kept: the chain, and the current state beside it.

    Atomicity: `append` writes changes, current state and index together or not at all, and returns
    once they are as durable as the store was configured to make them. A reader sees a whole append
    or none of it.

    Failure: every method raises a `StoreError` and nothing else of its own; after one, the store is
    as it was before the call, and what was acknowledged earlier is still there.

    Threading: any method may be called from any thread, and many processes may hold the same store.
    """

    @property
    def ledger(self) -> str:
        """The id of the ledger kept here, given when it was created."""
        ...

    def head(self) -> Head:
        """The end of the chain now. Cheap: it is asked before every decision."""
        ...

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Add sealed changes to the chain, and let the kept state follow.

        A PURGED change also erases every body about its records, in every change, beyond recovery
        from the store's files.

        Raises:
            StoreConflict: the chain's end is no longer `after`; nothing was written.
            InvalidValue: the changes do not follow `after` one by one; nothing was written.
            IllegalChange: the status of a record does not allow one of them; nothing was written.
                Ask `State.check` first: a store looks no deeper than it must to keep its rows.
        """
        ...

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """Changes in order, from a place on; with `record` or `sources`, only those about them.

        Giving both asks for changes about either. Each change carries all its parts.
        """
        ...

    def state(self) -> State:
        """The kept current state, ended records and tombstones included, as of one moment.

        It is read from the kept rows, not folded from the changes, so that the two can be compared.
        """
        ...

    def close(self) -> None:
        """Give everything back; calling it twice does no harm."""
        ...


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Instant:
        """Microseconds since 1970-01-01T00:00:00Z."""
        ...


class Ids(Protocol):
    """Makes up names that nobody else makes up."""

    def new(self) -> str:
        """An id or a salt: at least 122 random bits, no meaning, no personal data."""
        ...


class Signer(Protocol):
    """Signs bytes under a named key."""

    @property
    def key(self) -> str:
        """The id of the key."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The signature."""
        ...


class Verifier(Protocol):
    """Checks signatures of known keys."""

    def verify(self, key: str, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's; False for a key that is not known."""
        ...


class Anchor(Protocol):
    """Keeps the head of a chain outside the store.

    Failure: `read` raises `LedgerNotTrusted` when what it finds was not signed by a known key, and
    `StoreError` when it cannot be read at all.
    """

    def read(self) -> AnchoredHead | None:
        """What was anchored last, and what was announced since; None when nothing ever was."""
        ...

    def announce(self, ledger: str, head: Head, *, at: Instant) -> None:
        """Remember that a writer is about to lead the chain to this head, before it does."""
        ...

    def advance(self, ledger: str, head: Head, *, at: Instant) -> None:
        """Remember a later head, atomically and durably; an earlier one is ignored.

        What was announced up to there is forgotten.
        """
        ...
