"""How a workspace stands and what became of its items, as pydantic models.

These hold words, or tell of everybody: stories and the standing are for operators, and items are
an agent's own experience.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from lapse.server.workspace_told import LeftOutTold, Membership, Notices, UnknownTold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.admission import Dispute, Obligation, WorkItem
    from lapse.ledger import Chapter
    from lapse.runtime import ItemStory, Standing

__all__ = ["ItemTold", "Items", "StandingTold", "StoryTold"]


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True)


class ItemTold(_Told):
    """An item with its words."""

    id: str
    status: str
    record: dict[str, JsonValue]

    @classmethod
    def of(cls, item: WorkItem) -> ItemTold:
        """The whole item."""
        return cls.model_validate(item.as_json())


class Items(_Told):
    """Items with their words."""

    items: list[ItemTold]

    @classmethod
    def of(cls, items: Iterable[WorkItem]) -> Items:
        """Several items."""
        return cls(items=[ItemTold.of(item) for item in items])


class ChapterTold(_Told):
    """One thing that happened to an item."""

    change: int
    at: int
    what: str
    reason: str
    actor: str
    source: str | None
    version: str | None
    detail: JsonValue

    @classmethod
    def of(cls, chapter: Chapter) -> ChapterTold:
        """The same with texts."""
        return cls(
            change=chapter.seq,
            at=chapter.at,
            what=chapter.what.value,
            reason=chapter.reason,
            actor=chapter.actor,
            source=None if chapter.source is None else str(chapter.source),
            version=chapter.version,
            detail=chapter.detail,
        )


class StoryTold(_Told):
    """What became of an item."""

    item: ItemTold
    story: list[ChapterTold]
    notices: list[Notices]
    fallen: LeftOutTold | None = Field(
        description="Why it does not stand by the workspace's own history; null: it does."
    )

    @classmethod
    def of(cls, story: ItemStory) -> StoryTold:
        """The story of an item."""
        fell = story.fallen
        return cls(
            item=ItemTold.of(story.item),
            story=[ChapterTold.of(chapter) for chapter in story.chapters],
            notices=[Notices.of(notice) for notice in story.notices],
            fallen=None if fell is None else LeftOutTold(reasons=[fell.reason.value], by=fell.by),
        )


class ObligationTold(_Told):
    """What is owed."""

    name: str
    required: list[str]
    critical: list[str]

    @classmethod
    def of(cls, obligation: Obligation) -> ObligationTold:
        """The same with lists in order."""
        return cls(
            name=obligation.name,
            required=sorted(obligation.required),
            critical=sorted(obligation.critical),
        )


class DisputeTold(_Told):
    """A slot about which the workspace says different things."""

    slot: str
    sides: list[str] = Field(description="From the earliest on.")
    since: int = Field(description="The revision in which it began.")
    stands: str = Field(description="The side that stands all the same; empty: none does.")

    @classmethod
    def of(cls, dispute: Dispute) -> DisputeTold:
        """The same with a list."""
        return cls(
            slot=dispute.slot,
            sides=list(dispute.sides),
            since=dispute.since,
            stands=dispute.stands,
        )


class StandingTold(_Told):
    """How a workspace stands; it names items, and repeats none."""

    tenant: str | None
    revision: int
    items: dict[str, int] = Field(description="How many items have each status.")
    members: list[Membership]
    obligations: list[ObligationTold]
    disputed: list[str]
    disputes: list[DisputeTold]
    suspended: list[str]
    unknown: list[UnknownTold]

    @classmethod
    def of(cls, standing: Standing) -> StandingTold:
        """How it stands now."""
        return cls(
            tenant=standing.tenant,
            revision=standing.epoch,
            items={status.value: count for status, count in standing.items.items()},
            members=[Membership.of(member) for member in standing.members],
            obligations=[ObligationTold.of(one) for one in standing.obligations],
            disputed=list(standing.disputed),
            disputes=[DisputeTold.of(one) for one in standing.disputes],
            suspended=list(standing.suspended),
            unknown=[UnknownTold.of(one) for one in standing.unknown],
        )
