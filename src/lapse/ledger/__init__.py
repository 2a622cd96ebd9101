"""The ledger: what is remembered, what it depends on, and everything that happened to it.

Pure: no I/O, no clock, no randomness. Stores, clocks and signers come in through `ports`.

::

    drafts = writing(state, record, at=now, reason="learned", actor="contract", salt=salt)
    changes = seal(drafts, state.head)
    store.append(changes, after=state.head)     # durable, or StoreConflict
    for change in changes:
        state.apply(change)
"""

from lapse.ledger.chain import AnchoredHead, Break, BreakKind, Intact, examine
from lapse.ledger.changes import Change, ChangeKind, Draft, Head, Part, genesis, seal
from lapse.ledger.drafting import writing
from lapse.ledger.encoding import JsonObject, canonical, decode, digest, encode
from lapse.ledger.index import Index, Row
from lapse.ledger.marks import Mark
from lapse.ledger.narrative import Chapter, story
from lapse.ledger.ports import Anchor, Clock, Ids, Signer, Store, Verifier
from lapse.ledger.records import (
    EVERYWHERE,
    LIVE,
    Instant,
    Interval,
    Kind,
    Outcome,
    Receipt,
    Record,
    Scope,
    Status,
)
from lapse.ledger.sources import Source, SourceKind
from lapse.ledger.stamps import Comparison, Stamp, compare, vector
from lapse.ledger.state import State, fold

__all__ = [
    "EVERYWHERE",
    "LIVE",
    "Anchor",
    "AnchoredHead",
    "Break",
    "BreakKind",
    "Change",
    "ChangeKind",
    "Chapter",
    "Clock",
    "Comparison",
    "Draft",
    "Head",
    "Ids",
    "Index",
    "Instant",
    "Intact",
    "Interval",
    "JsonObject",
    "Kind",
    "Mark",
    "Outcome",
    "Part",
    "Receipt",
    "Record",
    "Row",
    "Scope",
    "Signer",
    "Source",
    "SourceKind",
    "Stamp",
    "State",
    "Status",
    "Store",
    "Verifier",
    "canonical",
    "compare",
    "decode",
    "digest",
    "encode",
    "examine",
    "fold",
    "genesis",
    "seal",
    "story",
    "vector",
    "writing",
]
