"""Who a caller of a workspace is, what it may do, and what it is told when it may not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lapse.errors import CallerError, InvalidValue
from lapse.ledger import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Grant", "NotAllowed", "NotShown"]


class NotAllowed(CallerError):
    """The caller is known, and may not do this."""


class NotShown(CallerError):
    """A view is not shown; `reasons` are reason codes, all that there are."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(f"the view is not shown: {', '.join(self.reasons)}; begin another return")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Who a caller is, and what it may do.

    Attributes:
        principal: who.
        role: as what.
        task: for which task; None: for the one that a request names.
        tenant: in whose workspace.
        purposes: the purposes that it may return for; empty: any.
        authority: what sort of speaker it is, as the policy ranks it.
        observer: the name under which it vouches for what it writes; empty: it vouches for nothing,
            so nothing that it writes is shown to anybody.
        operator: whether it may see how the workspace stands and every item's story, and decide
            about every item.
    """

    principal: str
    role: str
    task: str | None = None
    tenant: str | None = None
    purposes: frozenset[str] = frozenset()
    authority: str = ""
    observer: str = ""
    operator: bool = False

    def __post_init__(self) -> None:
        """Refuse a caller that is nobody."""
        for name in ("principal", "role"):
            if not getattr(self, name):
                raise InvalidValue(name, "", "name the principal and the role")
        if "" in (self.task, self.tenant) or "" in self.purposes:
            raise InvalidValue("task, tenant or purposes", "", "leave out what is not limited")

    def member(self, task: str | None) -> Scope:
        """The identity under which it leaves and returns.

        Raises:
            NotAllowed: it works on another task.
        """
        if self.task is not None and task not in (None, self.task):
            raise NotAllowed(f"task is {task!r}: this caller works on {self.task!r}")
        return Scope(
            tenant=self.tenant,
            principal=self.principal,
            role=self.role,
            task=self.task if task is None else task,
        )

    def back_for(self, purpose: str, task: str | None) -> Scope:
        """The identity of a return.

        Raises:
            NotAllowed: it works on another task, or for other purposes.
        """
        if self.purposes and purpose not in self.purposes:
            known = ", ".join(sorted(self.purposes))
            raise NotAllowed(f"purpose is {purpose!r}: this caller returns for {known}")
        return replace(self.member(task), purpose=purpose)
