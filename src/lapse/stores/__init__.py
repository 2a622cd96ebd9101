"""Other people's memories: what an adapter implements, and the ledger that stands beside it.

An adapter (`MemoryStore`) translates; a `Sidecar` knows, in our ledger, who wrote each memory, when
it holds, what it rests on and what became of it; `Guarded` puts the two together and serves what
stands. The doors to particular stores are modules of this room, each with its own extra.
"""

from lapse.stores.candidates import items_of
from lapse.stores.drafts import Write
from lapse.stores.entries import Provenance
from lapse.stores.guarded import MOST_FETCHED, Guarded
from lapse.stores.own import OwnStore
from lapse.stores.port import Capabilities, MemoryStore, Remembered, text_digest
from lapse.stores.reading import LeftOut, Legacy, Reading, Served, Standing
from lapse.stores.sidecar import Sidecar

__all__ = [
    "MOST_FETCHED",
    "Capabilities",
    "Guarded",
    "LeftOut",
    "Legacy",
    "MemoryStore",
    "OwnStore",
    "Provenance",
    "Reading",
    "Remembered",
    "Served",
    "Sidecar",
    "Standing",
    "Write",
    "items_of",
    "text_digest",
]
