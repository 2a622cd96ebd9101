"""`lapse record`, `supersede`, `revoke`, `close`, `dispute`, `resolve`, `restore`: what is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapse.cli.output import Format, FormatOption, errors_explained, print_json, say
from lapse.cli.stores import DEFAULT_STORE, AnchorOption, KeyOption, StoreOption
from lapse.cli.workspace_options import (
    Accept,
    Authority,
    LookedAt,
    NewStore,
    Observer,
    Tenant,
    Why,
    Writer,
    id_in,
    policy_of,
    workspace_at,
)
from lapse.errors import InvalidValue
from lapse.ledger import Kind, Scope, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.admission import WorkItem
    from lapse.runtime import Changing, Notice, Workspace

__all__ = ["close", "dispute", "record", "resolve", "restore", "revoke", "supersede"]

_KINDS = tuple(kind.value for kind in Kind if kind is not Kind.FIX)

Item = Annotated[str, typer.Argument(help="The item's id, or enough of its beginning.")]
Text = Annotated[str, typer.Argument(help="What is said.")]
Supports = Annotated[
    list[str] | None,
    typer.Option("--supports", help="A dependency that it is evidence for; may be repeated."),
]
RestsOn = Annotated[
    list[str] | None,
    typer.Option("--rests-on", help="An item that it rests on, as it is now; may be repeated."),
]
Assumes = Annotated[
    list[str] | None,
    typer.Option(
        "--assumes", help="An item whose slot it takes for granted, whoever fills it; repeatable."
    ),
]
Value = Annotated[
    str, typer.Option("--value", help="What the slot is worth by it, for those who assume it.")
]
Attributes = Annotated[
    str | None, typer.Option("--attributes", help="Further state, as a JSON object.")
]


Slot = Annotated[
    str, typer.Option(help="What it is about; a later statement of the slot is a version.")
]
KindOfItem = Annotated[str, typer.Option("--kind", help=f"One of {', '.join(_KINDS)}.")]
ForRole = Annotated[
    str | None, typer.Option("--for-role", help="Who may see it; left out: every role.")
]
ForTask = Annotated[
    str | None, typer.Option("--for-task", help="The task it belongs to; left out: any.")
]
ForPurpose = Annotated[
    list[str] | None, typer.Option("--for-purpose", help="For which purpose; repeatable.")
]
Replaces = Annotated[
    list[str] | None, typer.Option(help="An item that it takes the place of; repeatable.")
]
Obligation = Annotated[
    str, typer.Option(help="The obligation that is opened, or whose progress is told.")
]
Required = Annotated[list[str] | None, typer.Option(help="What the obligation needs; repeatable.")]
Critical = Annotated[
    list[str] | None,
    typer.Option(help="What it needs so much that nothing is shown without; repeatable."),
]
ItemId = Annotated[
    str | None, typer.Option("--id", help="An id of your own, to repeat the command safely.")
]


def record(
    text: Text,
    slot: Slot,
    by: Writer,
    store: NewStore = DEFAULT_STORE,
    tenant: Tenant = None,
    kind: KindOfItem = "fact",
    observer: Observer = "",
    looked_at: LookedAt = None,
    authority: Authority = "",
    role: ForRole = None,
    task: ForTask = None,
    purposes: ForPurpose = None,
    supports: Supports = None,
    rests_on: RestsOn = None,
    assumes: Assumes = None,
    replaces: Replaces = None,
    obligation: Obligation = "",
    required: Required = None,
    critical: Critical = None,
    value: Value = "",
    attributes: Attributes = None,
    item_id: ItemId = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Write a statement into the workspace, with the evidence for it."""
    with workspace_at(
        store, tenant=tenant, anchor=anchor, anchor_key=anchor_key, new=True
    ) as workspace:
        needed = [*(required or ()), *(critical or ())]
        item = workspace.record(
            text,
            slot=slot,
            by=by,
            kind=_kind(kind),
            authority=authority,
            scope=Scope(role=role, task=task),
            purposes=purposes or (),
            supports=supports or (),
            rests_on=_ids(workspace, rests_on),
            assumes=_ids(workspace, assumes),
            replaces=_ids(workspace, replaces),
            obligation=obligation,
            required=needed,
            critical=critical or (),
            value=value,
            attributes=_object(attributes) or {},
            observer=observer,
            source=_source(looked_at),
            item_id=item_id,
        )
    _written(item, format_, f"Recorded {item.id} in revision {item.epochs.since}.", observer)


def _kind(name: str) -> Kind:
    if name not in _KINDS:
        raise InvalidValue("--kind", name, f"pick one of {', '.join(_KINDS)}")
    return Kind(name)


def _ids(workspace: Workspace, names: Sequence[str] | None) -> list[str]:
    return [id_in(workspace, name) for name in names or ()]


def supersede(
    item: Item,
    text: Text,
    by: Writer,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    observer: Observer = "",
    looked_at: LookedAt = None,
    authority: Authority = "",
    supports: Supports = None,
    rests_on: RestsOn = None,
    value: Value = "",
    attributes: Attributes = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Say something else in place of an item; what rests on it is suspended."""
    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        old = id_in(workspace, item)
        changing: Changing = {
            "authority": authority,
            "value": value,
            "observer": observer,
            "source": _source(looked_at),
        }
        if supports:
            changing["supports"] = supports
        if rests_on:
            changing["rests_on"] = _ids(workspace, rests_on)
        if (given := _object(attributes)) is not None:
            changing["attributes"] = given
        new = workspace.supersede(old, text, by=by, **changing)
    _written(new, format_, f"{new.id} takes the place of {old}.")


def revoke(
    item: Item,
    by: Writer,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    why: Why = "",
    authority: Authority = "",
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Say that an item was never true; what rests on it is suspended."""
    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        notice = workspace.revoke(id_in(workspace, item), by=by, why=why, authority=authority)
    _noticed(notice, format_)


def close(
    item: Item,
    by: Writer,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    why: Why = "",
    authority: Authority = "",
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Say that an item was true and is over; what rests on it is suspended."""
    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        notice = workspace.close(id_in(workspace, item), by=by, why=why, authority=authority)
    _noticed(notice, format_)


def dispute(
    item: Item,
    by: Writer,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    why: Why = "",
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Say that an item is contradicted; nobody is shown it until that is decided."""
    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        notice = workspace.dispute(id_in(workspace, item), by=by, why=why)
    _noticed(notice, format_)


def restore(
    item: Item,
    by: Writer,
    observer: Annotated[str, typer.Option(help="Who has seen that it is so, and vouches for it.")],
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    why: Why = "",
    looked_at: LookedAt = None,
    authority: Authority = "",
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Let an item stand again, for a receipt; what has ended is said again in a new item."""
    with workspace_at(store, tenant=tenant, anchor=anchor, anchor_key=anchor_key) as workspace:
        old = id_in(workspace, item)
        stands = workspace.restore(
            old,
            by=by,
            observer=observer,
            why=why,
            authority=authority,
            source=_source(looked_at),
        )
    again = f"{old} stands again." if stands.id == old else f"{stands.id} says {old} again."
    _written(stands, format_, again)


def resolve(
    item: Annotated[str, typer.Argument(help="The side that is right: its id, or its beginning.")],
    by: Writer,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    observer: Annotated[
        str, typer.Option(help="Who has looked again and confirms it; that decides, if accepted.")
    ] = "",
    accept: Accept = None,
    why: Why = "",
    looked_at: LookedAt = None,
    authority: Annotated[
        str | None,
        typer.Option(
            envvar="LAPSE_AUTHORITY",
            help="What sort of speaker decides, such as user; left out: that of the sides counts.",
        ),
    ] = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Let one side of a dispute hold; that it was said last is no ground."""
    with workspace_at(
        store, tenant=tenant, anchor=anchor, anchor_key=anchor_key, policy=policy_of(accept)
    ) as workspace:
        side = id_in(workspace, item)
        holds = workspace.resolve(
            side,
            by=by,
            why=why,
            observer=observer,
            source=_source(looked_at),
            authority=authority or None,
        )
    _written(holds, format_, f"{side} is right; {holds.id} says it from now on.")


def _written(item: WorkItem, format_: Format, sentence: str, observer: str = "-") -> None:
    from lapse.server.workspace_told import Written

    if format_ is Format.JSON:
        print_json(Written.of(item).model_dump())
        return
    say(sentence)
    if not observer:
        say("Nobody vouches for it, so it is shown to nobody: --observer NAME, or 'lapse restore'.")
    if item.status.value == "disputed":
        say("It is disputed: its authority does not suffice to take that place.")
    say(f"Next: 'lapse why {item.id}' tells its story, 'lapse status' how the workspace stands.")


def _noticed(notice: Notice, format_: Format) -> None:
    from lapse.server.workspace_told import Notices

    if format_ is Format.JSON:
        print_json(Notices.of(notice).model_dump())
        return
    first, *more = notice.items
    say(f"{first} is {notice.what} in revision {notice.epoch}.")
    if more:
        say(f"Suspended with it: {', '.join(more)}.")
    say(f"Next: 'lapse why {first}' tells its story, 'lapse restore {first}' lets it stand again.")


def _source(looked_at: str | None) -> Source | None:
    return None if looked_at is None else Source.probe("look", looked_at)


def _object(text: str | None) -> dict[str, Any] | None:
    """A JSON object from the command line.

    Raises:
        InvalidValue: it is none.
    """
    if text is None:
        return None
    with errors_explained():
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        raise InvalidValue("--attributes", text, "pass a JSON object")
