"""Compares a store with what its changes say."""

from __future__ import annotations

from lapse.ledger import Intact, Store, examine
from lapse.testing.promises import holds, same
from lapse.testing.scribe import Scribe

__all__ = ["same_ledger", "same_state", "sound"]


def same_ledger(store: Store, scribe: Scribe) -> None:
    """Complain when head, chain or kept state is not what was carried out."""
    same(store.head(), scribe.expected.head, "the head is where the changes lead")
    same(list(store.changes()), scribe.written, "the chain is what was appended")
    same_state(store, scribe)
    sound(store)


def same_state(store: Store, scribe: Scribe) -> None:
    """Complain when the kept state is not what the changes add up to, index and order included."""
    kept = store.state()
    same(kept, scribe.expected, "the kept state is what the changes add up to")
    same(list(kept), list(scribe.expected), "live records are kept in the order of their writing")
    index = {source: set(kept.index.on(source)) for source in kept.index}
    expected = {source: set(scribe.expected.index.on(source)) for source in scribe.expected.index}
    same(index, expected, "the index covers the live records")


def sound(store: Store) -> None:
    """Complain when the chain does not verify."""
    found = examine(store.ledger, list(store.changes()), kept=store.state())
    holds(isinstance(found, Intact), f"the chain verifies; {found}")
