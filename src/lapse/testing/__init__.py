"""The public test kit: fakes that implement the ports, and suites for those who do."""

from lapse.testing.fakes import ManualClock, SequenceIds

__all__ = ["ManualClock", "SequenceIds"]
