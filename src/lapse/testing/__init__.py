"""The public test kit: fakes that implement the ports, and suites for those who do."""

from lapse.testing.anchor_cases import ANCHOR_CASES
from lapse.testing.fakes import InMemoryAnchor, ManualClock, SequenceIds
from lapse.testing.memory_store_cases import MEMORY_STORE_CASES
from lapse.testing.notebook import Notebook
from lapse.testing.scribe import Scribe, sample
from lapse.testing.signing_cases import SIGNING_CASES
from lapse.testing.store_cases import STORE_CASES

__all__ = [
    "ANCHOR_CASES",
    "MEMORY_STORE_CASES",
    "SIGNING_CASES",
    "STORE_CASES",
    "InMemoryAnchor",
    "ManualClock",
    "Notebook",
    "Scribe",
    "SequenceIds",
    "sample",
]
