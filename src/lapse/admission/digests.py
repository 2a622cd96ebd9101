"""Many items under one digest, so that a few changes cost a few changes.

Anybody can recompute it:

1. The *leaf* of an item is SHA-256 over ``[digest, status, receipts]`` as compact JSON: the digest
   of what the item says, which covers its id too; its status; its receipts as they are stored.
2. All leaves are sorted, and put into groups by their first 12 bits.
3. A group's line is those bits as two bytes, big-endian, and SHA-256 over its leaves, end to end.
4. The *root* is SHA-256 over the lines of the groups that have any leaf, in order, end to end.

A changed item touches two groups at most, and the root is over 4,096 lines however many items
there are.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from json import JSONEncoder
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.ledger import digest, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.admission.items import WorkItem

__all__ = ["Root", "leaf"]

_LEAF_BYTES = 32

_ROWS = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
"""Compact JSON of lists of texts and whole numbers; what a receipt and a status are made of."""


def leaf(item: WorkItem) -> bytes:
    """The leaf of an item.

    An item without a canonical form (an instant beyond ±(2^53 - 1)) has no digest; the SHA-256 of
    what it says as it is stored takes its place, so that it cannot keep others from being decided.

    Raises:
        InvalidValue: it holds what no JSON can carry, such as a lone surrogate.
    """
    try:
        said = item.digest()
    except InvalidValue:
        said = digest(encode([item.id, item.said()]))
    receipts = [receipt.as_json() for receipt in item.receipts]
    return hashlib.sha256(_ROWS([said, item.status.value, receipts]).encode()).digest()


class Root:
    """The digest of a set of items. A value: what adds or removes gives another.

    Attributes:
        count: how many items there are.
    """

    __slots__ = ("_groups", "_lines", "_root", "count")

    def __init__(self) -> None:
        """No items yet."""
        self.count = 0
        self._groups: dict[int, bytes] = {}
        self._lines: dict[int, bytes] = {}
        self._root = ""

    @classmethod
    def of(cls, items: Iterable[WorkItem]) -> Root:
        """The root over these items, each given once."""
        root = cls()
        leaves = sorted(leaf(item) for item in items)
        for group, found in groupby(leaves, _group):
            root._put(group, b"".join(found))
        root.count = len(leaves)
        return root

    def changed(self, *, less: Iterable[WorkItem], more: Iterable[WorkItem]) -> Root:
        """The root without some of its items, and with others.

        Raises:
            InvalidValue: what is to be taken out is not among them.
        """
        other = Root()
        other._groups, other._lines = dict(self._groups), dict(self._lines)
        other.count = self.count
        touched: dict[int, list[bytes]] = {}
        for item in less:
            old = leaf(item)
            leaves = other._leaves(touched, old)
            if old not in leaves:
                raise InvalidValue("less", item.id, "pass items that are under this digest")
            leaves.remove(old)
            other.count -= 1
        for item in more:
            new = leaf(item)
            other._leaves(touched, new).append(new)
            other.count += 1
        for group, leaves in touched.items():
            other._put(group, b"".join(sorted(leaves)))
        return other

    def hex(self) -> str:
        """The root, in hex."""
        if not self._root:
            lines = (self._lines[group] for group in sorted(self._lines))
            self._root = hashlib.sha256(b"".join(lines)).hexdigest()
        return self._root

    def _put(self, group: int, leaves: bytes) -> None:
        if leaves:
            self._groups[group] = leaves
            self._lines[group] = group.to_bytes(2, "big") + hashlib.sha256(leaves).digest()
        else:
            del self._groups[group], self._lines[group]

    def _leaves(self, touched: dict[int, list[bytes]], of: bytes) -> list[bytes]:
        """The leaves of the group that a leaf belongs to, cut apart at the first touch."""
        group = _group(of)
        if group not in touched:
            known = self._groups.get(group, b"")
            starts = range(0, len(known), _LEAF_BYTES)
            touched[group] = [known[at : at + _LEAF_BYTES] for at in starts]
        return touched[group]


def _group(of: bytes) -> int:
    return of[0] << 4 | of[1] >> 4
