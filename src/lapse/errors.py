"""Every error lapse raises on purpose, in one tree, split by whose move it is.

::

    LapseError
    ├── CallerError                 fix the call
    │   ├── InvalidValue            a field holds something it may not hold
    │   ├── IllegalChange           the record's status does not allow this change
    │   ├── UnknownRecord           no record has this id
    │   ├── Incapable               the store behind cannot do this, and says so
    │   └── MissingExtra            an optional dependency is not installed
    ├── PeerError                   the other side of the wire broke the contract
    │   ├── MalformedMessage        it sent something that cannot be read
    │   ├── NoRequest               a model answered, and what it wrote is no request
    │   ├── NoVerdict               a model was asked about a pair, and its answer is no verdict
    │   └── Refused                 it answered, and the answer is no (carries a status)
    ├── StoreError                  the store could not do what it promises
    │   ├── StoreConflict           somebody else wrote first: read the new changes, decide again
    │   ├── StoreLocked             another process holds the lock for too long
    │   ├── StoreReadOnly           the path or the role may not write
    │   ├── StoreFull               no space is left
    │   ├── StoreForeign            this is a database, but not a lapse ledger
    │   ├── StoreNewer              a later lapse wrote it
    │   ├── StoreCorrupt            it cannot be read back
    │   ├── StoreUnavailable        the server does not answer
    │   └── StoreClosed             it was closed
    └── NotTrusted                  the data is there and must not be acted on
        └── LedgerNotTrusted        the chain does not lead to its anchor (carries a `Break`)

"Stale" is not among them: a lapsed record is a verdict with a reason, never an exception.
"""

from __future__ import annotations

from typing import Protocol

__all__ = [
    "CallerError",
    "Finding",
    "IllegalChange",
    "Incapable",
    "InvalidValue",
    "LapseError",
    "LedgerNotTrusted",
    "MalformedMessage",
    "MissingExtra",
    "NoRequest",
    "NoVerdict",
    "NotTrusted",
    "PeerError",
    "Refused",
    "StoreClosed",
    "StoreConflict",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreLocked",
    "StoreNewer",
    "StoreReadOnly",
    "StoreUnavailable",
    "UnknownRecord",
]

_SHOWN = 80
"""Characters of an offending value that a message repeats: enough to find it, no whole body."""


class LapseError(Exception):
    """The root: catching it catches everything lapse raises on purpose."""


class CallerError(LapseError):
    """The call is wrong; repeating it unchanged fails again."""


class InvalidValue(CallerError, ValueError):
    """A field holds something it may not hold.

    Args:
        field: the field or parameter, named as the caller knows it.
        value: what it held; shortened in the message.
        remedy: what to pass instead, as an instruction.
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        try:
            shown = repr(value)
        except RecursionError:  # nested too deeply is what it may be refused for
            shown = f"a {type(value).__name__}"
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}…"
        super().__init__(f"{field} is {shown}: {remedy}")
        self.field = field
        self.value = value
        self.remedy = remedy


class IllegalChange(CallerError):
    """The record's status does not allow this change, as the status machine is drawn."""


class UnknownRecord(CallerError, KeyError):
    """No record has this id."""

    def __str__(self) -> str:
        """Undo KeyError's habit of quoting its argument."""
        return str(self.args[0])


class Incapable(CallerError):
    """A store of memories was asked for what it does not declare.

    Args:
        store: its name.
        capability: the field of `lapse.stores.Capabilities` that is not set.
    """

    def __init__(self, store: str, capability: str) -> None:
        super().__init__(
            f"{store} cannot do this: it does not declare {capability!r}; look at its capabilities "
            "before asking"
        )
        self.store = store
        self.capability = capability


class MissingExtra(CallerError, ImportError):
    """An optional dependency is not installed; the message holds the line that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra '{extra}': pip install 'lapse[{extra}]'")
        self.extra = extra


class PeerError(LapseError):
    """The other side of the wire broke the contract; `status` is what HTTP would answer."""

    status = 502


class MalformedMessage(PeerError):
    """The peer sent something that cannot be read as what it claims to be."""

    status = 400


class NoRequest(PeerError):
    """A model answered, and what it wrote is no request; what it cost is known all the same.

    Args:
        reason: what is wrong with it.
        prompt: tokens read.
        completion: tokens written.
        memory: the part of `prompt` that is the memory block.
    """

    def __init__(
        self, reason: str, *, prompt: int = 0, completion: int = 0, memory: int = 0
    ) -> None:
        super().__init__(f"the model wrote no request: {reason}")
        self.reason = reason
        self.prompt = prompt
        self.completion = completion
        self.memory = memory


class NoVerdict(PeerError):
    """A model was asked about a pair, and its answer is no verdict; what it cost is known.

    Args:
        reason: what is wrong with it.
        calls: requests that were answered.
        prompt: tokens read.
        completion: tokens written.
    """

    def __init__(
        self, reason: str, *, calls: int = 0, prompt: int = 0, completion: int = 0
    ) -> None:
        super().__init__(f"no verdict: {reason}")
        self.reason = reason
        self.calls = calls
        self.prompt = prompt
        self.completion = completion


class Refused(PeerError):
    """The peer answered, and the answer is no."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class StoreError(LapseError):
    """The store could not do what it promises; nothing half-written stays."""


class StoreConflict(StoreError):
    """The chain has grown since the decision was taken: read the new changes and decide again."""


class StoreLocked(StoreError):
    """Another process held the store's lock for longer than the configured wait."""


class StoreReadOnly(StoreError):
    """The path or the database role may not be written."""


class StoreFull(StoreError):
    """No space is left; what was acknowledged before is still there."""


class StoreForeign(StoreError):
    """There is a database at this place, and it is not a lapse ledger; it was left as it was."""


class StoreNewer(StoreError):
    """A later version of lapse wrote this store; it was left as it was."""


class StoreCorrupt(StoreError):
    """The store's bytes cannot be read back."""


class StoreUnavailable(StoreError):
    """The database server does not answer, or the connection broke."""


class StoreClosed(StoreError):
    """The store was closed; open it again."""


class NotTrusted(LapseError):
    """The data is there and must not be acted on."""


class Finding(Protocol):
    """Where a stored ledger stops being trustworthy; `lapse.ledger.Break` is one."""

    @property
    def kind(self) -> str:
        """The reason: a `lapse.ledger.BreakKind`."""
        ...

    @property
    def seq(self) -> int:
        """The place of the first entry concerned."""
        ...

    @property
    def detail(self) -> str:
        """What was expected and what was found; no content."""
        ...


class LedgerNotTrusted(NotTrusted):
    """The stored chain does not lead to the anchor kept outside it; `found` says where."""

    def __init__(self, found: Finding) -> None:
        super().__init__(str(found))
        self.found = found
