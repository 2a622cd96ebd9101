"""What a workspace answers, as pydantic models: one shape over HTTP, from MCP tools, in a terminal.

Nothing that answers a write, and nothing about a return, holds the words of an item: those are in
the view, in the experience that comes back with it, and in the story that operators may ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lapse.runtime import FREE

if TYPE_CHECKING:
    from lapse.admission import (
        Coverage,
        Departure,
        LastWord,
        Member,
        Missing,
        Refused,
        UnknownCurrent,
        WorkItem,
    )
    from lapse.runtime import Cost, CycleStory, Looked, Notice

__all__ = [
    "Left",
    "LeftOutTold",
    "Membership",
    "Notices",
    "Outcome",
    "Scanned",
    "SpentTold",
    "UnknownTold",
    "Written",
    "refused_members",
]


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True)


class Written(_Told):
    """An item that was written."""

    id: str
    status: str = Field(
        description="`disputed` where it takes the place of what it may not replace."
    )
    revision: int = Field(description="The revision of the workspace that it made.")

    @classmethod
    def of(cls, item: WorkItem) -> Written:
        """An item's id, and what became of it."""
        return cls(id=item.id, status=item.status.value, revision=item.epochs.since)


class Notices(_Told):
    """A decision that wrote no item."""

    what: str
    items: list[str] = Field(
        description="The items that do not stand any more, that one first which was named."
    )
    by: str
    why: str
    revision: int
    at: int

    @classmethod
    def of(cls, notice: Notice) -> Notices:
        """The same as in the ledger."""
        return cls(
            what=notice.what,
            items=list(notice.items),
            by=notice.by,
            why=notice.why,
            revision=notice.epoch,
            at=notice.at,
        )


class Membership(_Told):
    """A member, and where it is."""

    principal: str
    role: str
    task: str | None
    presence: str = Field(description="`active`, `absent`, `returning`, `admitted` or `blocked`.")
    revision: int = Field(description="The workspace's, at the member's last step.")
    at: int
    cycle: str = Field(description="The return of that step; empty before the first one.")
    departed: int | None = Field(description="The last revision that it saw when it left.")

    @classmethod
    def of(cls, member: Member) -> Membership:
        """The same as in the ledger."""
        return cls(
            principal=str(member.identity.principal),
            role=str(member.identity.role),
            task=member.identity.task,
            presence=member.presence.value,
            revision=member.epoch,
            at=member.at,
            cycle=member.cycle,
            departed=member.departed,
        )


class Left(_Told):
    """A departure that was kept."""

    principal: str
    role: str
    task: str | None
    revision: int
    at: int
    items: int = Field(description="How many items the member could see.")
    digest: str = Field(description="SHA-256 of what it could see, in hex.")

    @classmethod
    def of(cls, departure: Departure) -> Left:
        """What there is to say of a departure."""
        return cls(
            principal=str(departure.member.principal),
            role=str(departure.member.role),
            task=departure.member.task,
            revision=departure.epoch,
            at=departure.at,
            items=len(departure.items),
            digest=departure.digest(),
        )


class SpentTold(_Told):
    """What was spent on answers."""

    asked: int = Field(description="Questions that were asked.")
    reused: int = Field(description="Answers that were kept from before.")
    left: int = Field(description="Questions that the allowance did not reach.")
    calls: int = Field(description="Requests that a model answered.")
    prompt: int = Field(description="Tokens that it read.")
    completion: int = Field(description="Tokens that it wrote.")

    @classmethod
    def of(cls, asked: int, reused: int, left: int, cost: Cost) -> SpentTold:
        """Questions, and what the answers cost."""
        return cls(
            asked=asked,
            reused=reused,
            left=left,
            calls=cost.calls,
            prompt=cost.prompt,
            completion=cost.completion,
        )


class Scanned(_Told):
    """A look ahead while a member is away."""

    answered: bool = Field(description="Whether there is anybody who answers.")
    complete: bool = Field(description="Whether nothing is left to ask for now.")
    spent: SpentTold

    @classmethod
    def of(cls, looked: Looked | None) -> Scanned:
        """What came of looking; None where nobody answers."""
        if looked is None:
            return cls(answered=False, complete=False, spent=SpentTold.of(0, 0, 0, FREE))
        spent = SpentTold.of(looked.asked, looked.reused, len(looked.left), looked.cost)
        return cls(answered=True, complete=not looked.left, spent=spent)


class CoverageTold(_Told):
    """How far what was chosen reaches."""

    covered: int
    obligations: int
    critical_covered: int
    critical: int

    @classmethod
    def of(cls, coverage: Coverage) -> CoverageTold:
        """The counts."""
        return cls.model_validate(coverage.as_json())


class LastTold(_Told):
    """Who spoke about a dependency last, and why that does not count."""

    item: str
    writer: str
    revision: int
    at: int
    reasons: list[str]

    @classmethod
    def of(cls, last: LastWord) -> LastTold:
        """The same with reason codes."""
        return cls(
            item=last.item,
            writer=last.writer,
            revision=last.epoch,
            at=last.at,
            reasons=[reason.value for reason in last.reasons],
        )


class MissingTold(_Told):
    """A dependency that nothing supports which may be shown."""

    dependency: str
    critical: bool
    needed_by: list[str]
    last: LastTold | None

    @classmethod
    def of(cls, missing: Missing) -> MissingTold:
        """The same with reason codes."""
        return cls(
            dependency=missing.dependency,
            critical=missing.critical,
            needed_by=list(missing.needed_by),
            last=None if missing.last is None else LastTold.of(missing.last),
        )


class UnknownTold(_Told):
    """A slot whose old value is dead and whose new one nobody knows."""

    slot: str
    last: str
    reason: str
    by: str

    @classmethod
    def of(cls, unknown: UnknownCurrent) -> UnknownTold:
        """The same with a reason code."""
        return cls(slot=unknown.slot, last=unknown.last, reason=unknown.reason.value, by=unknown.by)


class LeftOutTold(_Told):
    """Why an item was left out."""

    reasons: list[str]
    by: str = Field(description="The item that brought it down; empty where none did.")


class Outcome(_Told):
    """How a return ended; it names items, and repeats none."""

    cycle: str
    outcome: Literal["admitted", "block", "reset"] = Field(
        description="`admitted`: there is a view. `block`: wait for what is missing. `reset`: go "
        "on with nothing inherited."
    )
    principal: str
    role: str
    task: str | None
    purpose: str
    revision: int
    at: int
    shown: list[str] = Field(description="What the view shows, in its order; else empty.")
    not_enough: list[str] = Field(description="Without a view: what was left, and is not enough.")
    experience: list[str] = Field(description="The private experience that comes back with it.")
    left_out: dict[str, LeftOutTold]
    coverage: CoverageTold
    failures: list[str]
    missing: list[MissingTold]
    unknown: list[UnknownTold]
    spent: SpentTold
    workload: str

    @classmethod
    def of(cls, story: CycleStory) -> Outcome:
        """The story of a return."""
        back, blocked = story.returning, story.outcome
        spent = story.spent
        return cls(
            cycle=back.cycle,
            outcome="admitted" if blocked is None else blocked.value,
            principal=str(back.who.principal),
            role=str(back.who.role),
            task=back.who.task,
            purpose=str(back.who.purpose),
            revision=back.epoch,
            at=back.at,
            shown=list(story.shown) if blocked is None else [],
            not_enough=[] if blocked is None else list(story.shown),
            experience=list(story.experience),
            left_out={
                name: LeftOutTold(reasons=[r.value for r in one.reasons], by=one.by)
                for name, one in story.left_out.items()
            },
            coverage=CoverageTold.of(story.coverage),
            failures=[failure.value for failure in story.failures],
            missing=[MissingTold.of(one) for one in story.missing],
            unknown=[UnknownTold.of(one) for one in story.unknown],
            spent=SpentTold.of(spent.asked, spent.reused, spent.left, spent.cost),
            workload=story.workload,
        )


def refused_members(refused: Refused) -> dict[str, Any]:
    """What a problem document says of a view that is not shown."""
    return {"reasons": [reason.value for reason in refused.reasons]}
