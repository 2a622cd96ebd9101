"""The public test kit: fakes that implement the ports, and suites for those who do."""

from lapse.testing.fakes import ManualClock, SequenceIds
from lapse.testing.scribe import Scribe, sample
from lapse.testing.store_cases import STORE_CASES

__all__ = ["STORE_CASES", "ManualClock", "Scribe", "SequenceIds", "sample"]
