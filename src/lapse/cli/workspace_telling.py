"""`lapse status`, `items`, `why`: how a workspace stands, and how that came about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse.cli.output import (
    Format,
    FormatOption,
    counted,
    iso,
    print_json,
    print_table,
    say,
)
from lapse.cli.stores import DEFAULT_STORE, AnchorOption, KeyOption, StoreOption, shown
from lapse.cli.workspace_options import Tenant, id_in, workspace_at
from lapse.errors import UnknownRecord
from lapse.ledger import LIVE

if TYPE_CHECKING:
    from lapse.admission import WorkItem
    from lapse.ledger import Chapter
    from lapse.runtime import CycleStory, ItemStory, Standing, Workspace

__all__ = ["items", "status", "told_outcome", "why"]

_SHORT = 12
"""Characters of an id that tables show; commands take any beginning that is unique."""


def status(
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Tell how a workspace stands: members, what is owed, disputes, what nobody knows."""
    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        standing = workspace.status()
    if format_ is Format.JSON:
        from lapse.server.workspace_standing import StandingTold

        print_json(StandingTold.of(standing).model_dump())
        return
    _say_standing(standing)


def _say_standing(standing: Standing) -> None:
    counts = ", ".join(f"{number:,} {status}" for status, number in standing.items.items())
    say(f"Revision {standing.epoch}. Items: {counts or 'none'}.")
    members = [
        (m.identity.principal, m.identity.role, m.identity.task or "", m.presence, m.epoch, m.cycle)
        for m in standing.members
    ]
    columns = ("principal", "role", "task", "is", "revision", "cycle")
    print_table("Members", columns, members, empty="Nobody ever left.")
    owed = [
        (one.name, _listed(one.required), _listed(one.critical), ", ".join(one.frontiers))
        for one in standing.obligations
    ]
    columns = ("obligation", "needs", "critical", "frontier")
    print_table("What is owed", columns, owed, empty="Nothing is owed.")
    for one in standing.disputes:
        holds = f"; {one.stands} stands all the same" if one.stands else ""
        say(f"In dispute since revision {one.since}: {one.slot}, by {', '.join(one.sides)}{holds}.")
    if standing.suspended:
        say(f"Suspended: {', '.join(standing.suspended)}.")
    for one in standing.unknown:
        say(f"Nobody knows what {one.slot} is now: {one.last} fell ({one.reason}{_by(one.by)}).")
    say("Next: 'lapse why ID' tells an item's story, or how a return ended.")


def items(
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    all_: Annotated[bool, typer.Option("--all", help="Also what has ended.")] = False,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """List the items of a workspace with their words. For operators."""
    from lapse.admission import work_items

    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        found = [
            item
            for item in work_items(workspace.store.state())
            if item.scope.tenant == tenant and (all_ or item.status in LIVE)
        ]
    if format_ is Format.JSON:
        print_json({"items": [item.as_json() for item in found]})
        return
    rows = [
        (i.id[:_SHORT], i.status, i.epochs.since, i.kind, i.slot, i.text, i.writer) for i in found
    ]
    columns = ("id", "status", "revision", "kind", "slot", "says", "writer")
    print_table(
        f"{counted(len(rows), 'item')} in {shown(store)}",
        columns,
        rows,
        empty=f"Nothing in {shown(store)}.",
    )


def why(
    name: Annotated[str, typer.Argument(help="The id of an item, or of a return.")],
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Tell what became of an item, or why a return ended as it did. For operators."""
    from lapse.runtime import CycleStory

    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        story = _explained(workspace, name)
    if isinstance(story, CycleStory):
        told_outcome(story, format_)
    else:
        _told_item(story, format_)


def _explained(workspace: Workspace, name: str) -> ItemStory | CycleStory:
    try:
        return workspace.explain(name)
    except UnknownRecord:
        return workspace.explain(id_in(workspace, name))


def _told_item(story: ItemStory, format_: Format) -> None:
    if format_ is Format.JSON:
        from lapse.server.workspace_standing import StoryTold

        print_json(StoryTold.of(story).model_dump())
        return
    item, fell = story.item, story.fallen
    say(f"{item.id}: {item.text}")
    say(f"{item.kind} in slot {item.slot}, written by {item.writer} in revision {_since(item)}.")
    say(f"It is {item.status}." if fell is None else f"It does not stand: {_fell(fell)}.")
    for notice in story.notices:
        reason = f": {notice.why}" if notice.why else ""
        say(f"{notice.what} by {notice.by} in revision {notice.epoch}{reason}")
    rows = [(c.seq, iso(c.at), c.what, c.reason, c.actor, _detail(c)) for c in story.chapters]
    columns = ("change", "at", "what", "reason", "by", "detail")
    print_table("Its story", columns, rows, empty="")


def told_outcome(story: CycleStory, format_: Format, *, judge: str = "") -> None:
    """Print how a return ended.

    Args:
        story: how.
        format_: for whom.
        judge: who was named to look for breaks; empty: that is not known here.
    """
    if format_ is Format.JSON:
        from lapse.server.workspace_told import Outcome

        print_json(Outcome.of(story).model_dump())
        return
    back = story.returning
    cover = story.coverage
    word = "admitted" if story.outcome is None else f"not admitted ({story.outcome})"
    say(f"Return {back.cycle} into revision {back.epoch}: {word}.")
    say(
        f"Covered: {cover.covered} of {counted(cover.obligations, 'obligation')}, "
        f"{cover.critical_covered} of {cover.critical} critical dependencies."
    )
    if story.outcome is None:
        say(f"The view shows {counted(len(story.shown), 'item')}: {', '.join(story.shown)}.")
        if story.experience:
            say(f"Experience that comes back with it: {', '.join(story.experience)}.")
    else:
        say(f"Not enough: {', '.join(story.failures)}.")
    _say_gaps(story)
    rows = [(n, ", ".join(one.reasons), one.by) for n, one in sorted(story.left_out.items())]
    print_table("Left out", ("item", "reasons", "by"), rows, empty="Nothing was left out.")
    _say_next(story, judge)


def _say_gaps(story: CycleStory) -> None:
    for one in story.missing:
        needed = ", ".join(one.needed_by)
        last = one.last
        heard = "nobody ever spoke of it"
        if last is not None:
            reasons = ", ".join(last.reasons) or "it did not fit"
            heard = f"last heard from {last.writer} in {last.item}: {reasons}"
        say(
            f"Missing{' and critical' if one.critical else ''}: {one.dependency}, needed by "
            f"{needed}; {heard}."
        )
    for one in story.unknown:
        say(f"Nobody knows what {one.slot} is now: {one.last} fell ({one.reason}{_by(one.by)}).")


def _say_next(story: CycleStory, judge: str) -> None:
    back = story.returning
    unlooked = any(
        reason.value == "unscanned" for o in story.left_out.values() for reason in o.reasons
    )
    if unlooked and judge == "none":
        say("Nobody looked whether later items break earlier ones: name who does with --judge.")
    if story.outcome is None:
        say(f"Next: 'lapse view {back.cycle}' prints it for the model, checked again.")
    else:
        say("Next: record what is missing, then another 'lapse return'; 'lapse status' may help.")


def _since(item: WorkItem) -> int:
    return item.epochs.since


def _fell(fallen: Any) -> str:
    return f"{fallen.reason}{_by(fallen.by)}"


def _by(item_id: str) -> str:
    return f" by {item_id}" if item_id else ""


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _detail(chapter: Chapter) -> str:
    if chapter.source is not None:
        return f"{chapter.source} at {chapter.version}"
    match chapter.detail:
        case {"content": {"form": "work"}, "receipts": [*receipts]}:
            given: list[Any] = [*receipts]
            observers = ", ".join(dict.fromkeys(str(receipt[0]) for receipt in given))
            return f"vouched for by {observers or 'nobody'}"
        case None:
            return "purged"
        case detail:
            return json.dumps(detail, ensure_ascii=False)
