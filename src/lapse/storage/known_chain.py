"""What is remembered of a chain that was read and checked once, to compare later reads with."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lapse.ledger import Change, ChangeKind, Head, Source

__all__ = ["KnownChain"]

_DIGEST_BYTES = 32


class KnownChain:
    """Digests by place, places by record and by source; single-owner, not thread-safe.

    Args:
        start: the head of the empty chain.
    """

    __slots__ = ("_digests", "_of_record", "_of_source", "head", "purged", "unexplained")

    def __init__(self, start: Head) -> None:
        self.head = start
        self.purged: set[str] = set()
        self.unexplained: set[str] = set()
        """Records whose content is gone and whose purge was not seen."""
        self._digests = bytearray(bytes.fromhex(start.digest))
        # Most records have one place: a number is a third of the list that would hold it.
        self._of_record: dict[str, int | list[int]] = {}
        self._of_source: dict[Source, list[int]] = {}

    def take(self, change: Change) -> bool:
        """Remember the next change; False, and nothing remembered, when it is not the next."""
        follows = change.previous == self.head.digest and change.seq == self.head.seq + 1
        if not follows or not change.intact:
            return False
        self._digests += bytes.fromhex(change.digest)
        self.head = change.head
        purges = change.kind is ChangeKind.PURGED
        for part in change.parts:
            self._place(part.record, change.seq)
            if purges:
                self.purged.add(part.record)
                self.unexplained.discard(part.record)
            elif part.body is None and part.record not in self.purged:
                self.unexplained.add(part.record)
        if change.source is not None:
            self._of_source.setdefault(change.source, []).append(change.seq)
        return True

    def has(self, head: Head) -> bool:
        """Whether the chain led through this head."""
        return 0 <= head.seq <= self.head.seq and self._digest(head.seq) == head.digest

    def agrees(self, change: Change) -> bool:
        """Whether a change is the one that was in its place, erased as far as it was purged."""
        return (
            self.has(change.head)
            and change.intact
            and all((part.body is None) == (part.record in self.purged) for part in change.parts)
        )

    def places(self, after: int, record: str | None, sources: Collection[Source]) -> Sequence[int]:
        """The places after one, of all changes or of those about a record or about sources."""
        if record is None and not sources:
            return range(max(after, 0) + 1, self.head.seq + 1)
        found = {place for source in sources for place in self._of_source.get(source, ())}
        if record is not None:
            of_record = self._of_record.get(record, ())
            found.update((of_record,) if isinstance(of_record, int) else of_record)
        return sorted(place for place in found if place > after)

    def _place(self, record: str, seq: int) -> None:
        known = self._of_record.get(record)
        if known is None:
            self._of_record[record] = seq
        elif isinstance(known, int):
            self._of_record[record] = [known, seq]
        else:
            known.append(seq)

    def _digest(self, seq: int) -> str:
        start = seq * _DIGEST_BYTES
        return self._digests[start : start + _DIGEST_BYTES].hex()
