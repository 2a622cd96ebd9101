"""`lapse depart`, `scan`, `return`, `view`: agents leave a workspace and come back to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse.cli.output import Exit, Format, FormatOption, counted, print_json, say
from lapse.cli.stores import DEFAULT_STORE, AnchorOption, KeyOption, StoreOption
from lapse.cli.workspace_judges import BaseUrl, Judge
from lapse.cli.workspace_options import (
    DEFAULT_CHARS,
    DEFAULT_ITEMS,
    DEFAULT_LIFETIME_S,
    Accept,
    Chars,
    Items,
    Key,
    Lifetime,
    NewStore,
    Principal,
    Purpose,
    Role,
    Task,
    Tenant,
    WhenIncomplete,
    identity,
    key_of,
    policy_of,
    workspace_at,
)
from lapse.cli.workspace_telling import told_outcome

if TYPE_CHECKING:
    from lapse.admission import Refused
    from lapse.runtime import Looked

__all__ = ["depart", "return_", "scan", "view"]

Cycle = Annotated[str, typer.Argument(help="The return's id, as 'lapse return' printed it.")]
Pairs = Annotated[
    int | None, typer.Option("--most-questions", min=0, help="How many questions may be asked.")
]
Calls = Annotated[
    int | None, typer.Option("--most-calls", min=0, help="How many requests a model may answer.")
]
Tokens = Annotated[
    int | None, typer.Option("--most-tokens", min=0, help="How many tokens a model may use.")
]


def depart(
    principal: Principal,
    role: Role,
    task: Task = None,
    store: NewStore = DEFAULT_STORE,
    tenant: Tenant = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Let an agent leave: what it can see now is what its return will be decided on."""
    with workspace_at(
        store, tenant=tenant, anchor=anchor, anchor_key=anchor_key, new=True
    ) as workspace:
        left = workspace.depart(identity(principal, role, task))
    if format_ is Format.JSON:
        from lapse.server.workspace_told import Left

        print_json(Left.of(left).model_dump())
        return
    say(
        f"{principal} left after revision {left.epoch}, "
        f"knowing {counted(len(left.items), 'item')}.",
        "Next: 'lapse scan' looks ahead while it is away, 'lapse return' lets it back.",
    )


def scan(
    principal: Principal,
    role: Role,
    task: Task = None,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    judge: Judge = "none",
    judge_url: BaseUrl = "",
    accept: Accept = None,
    pairs: Pairs = None,
    calls: Calls = None,
    tokens: Tokens = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Answer, while an agent is away, what its return would ask now; answers are kept."""
    with workspace_at(
        store,
        tenant=tenant,
        anchor=anchor,
        anchor_key=anchor_key,
        policy=policy_of(accept),
        judge=judge,
        judge_url=judge_url,
    ) as workspace:
        from lapse.runtime import Allowance

        allowance = Allowance(pairs=pairs, calls=calls, tokens=tokens)
        looked = workspace.scan(identity(principal, role, task), allowance=allowance)
    if format_ is Format.JSON:
        from lapse.server.workspace_told import Scanned

        print_json(Scanned.of(looked).model_dump())
    else:
        _say_looked(looked)


def _say_looked(looked: Looked | None) -> None:
    if looked is None:
        say("Nobody looked: name who does with --judge.")
        return
    say(
        f"Asked {counted(looked.asked, 'question')}, knew {looked.reused:,} already, "
        f"left {len(looked.left):,}.",
        f"Cost: {counted(looked.cost.calls, 'call')}, {counted(looked.cost.tokens, 'token')}.",
    )
    if looked.left:
        say("Next: the same again; what is kept costs nothing.")


def return_(
    principal: Principal,
    role: Role,
    purpose: Purpose,
    task: Task = None,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    judge: Judge = "none",
    judge_url: BaseUrl = "",
    accept: Accept = None,
    workload: Annotated[str, typer.Option(help="What it comes back for, in its words.")] = "",
    cycle: Annotated[
        str | None,
        typer.Option(help="An id of your own; a return that was cut off goes on under it."),
    ] = None,
    max_items: Items = DEFAULT_ITEMS,
    max_chars: Chars = DEFAULT_CHARS,
    when_incomplete: WhenIncomplete = "block",
    lifetime_s: Lifetime = DEFAULT_LIFETIME_S,
    pairs: Pairs = None,
    calls: Calls = None,
    tokens: Tokens = None,
    key: Key = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Let an agent back: a complete view of what it may act on, or what is missing for one.

    The exit code is 1 when there is no view.
    """
    with workspace_at(
        store,
        tenant=tenant,
        anchor=anchor,
        anchor_key=anchor_key,
        key=key_of(key, store),
        policy=policy_of(
            accept,
            items=max_items,
            chars=max_chars,
            when_incomplete=when_incomplete,
            lifetime_s=lifetime_s,
        ),
        judge=judge,
        judge_url=judge_url,
    ) as workspace:
        from lapse.runtime import Allowance, CycleStory

        ended = workspace.return_(
            identity(principal, role, task, purpose),
            cycle=cycle,
            workload=workload,
            allowance=Allowance(pairs=pairs, calls=calls, tokens=tokens),
        )
        story = workspace.explain(ended.eligible.checkpoint.returning.cycle)
    if isinstance(story, CycleStory):  # the id of a cycle, and of nothing else
        told_outcome(story, format_, judge=judge)
        if story.outcome is not None:
            raise typer.Exit(Exit.PROBLEMS)


def view(
    cycle: Cycle,
    principal: Principal,
    role: Role,
    purpose: Purpose,
    task: Task = None,
    store: StoreOption = DEFAULT_STORE,
    tenant: Tenant = None,
    accept: Accept = None,
    key: Key = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Print a return's view for a model, after checking again that it may be acted on.

    The exit code is 1 when it may not.
    """
    from lapse.admission import Refused

    who = identity(principal, role, task, purpose)
    with workspace_at(
        store,
        tenant=tenant,
        anchor=anchor,
        anchor_key=anchor_key,
        key=key_of(key, store),
        policy=policy_of(accept),
    ) as workspace:
        signed = workspace.signed_view(cycle, who)
        text = workspace.brief(cycle, who)
        mine = workspace.experience(cycle, who)
    if isinstance(signed, Refused):
        _refuse(signed, format_)
        return
    if isinstance(text, Refused):
        _refuse(text, format_)
        return
    if isinstance(mine, Refused):
        _refuse(mine, format_)
        return
    if format_ is Format.JSON:
        body: Any = json.loads(signed.body)
        shown = {"view": body, "key": signed.key, "signature": signed.signature.hex()}
        experience = [{"id": item.id, "says": item.text} for item in mine]
        print_json({**shown, "brief": text, "experience": experience})
        return
    say(text)
    for item in mine:
        say(f"From your own experience ({item.id}): {item.text}")


def _refuse(refused: Refused, format_: Format) -> None:
    reasons = [reason.value for reason in refused.reasons]
    if format_ is Format.JSON:
        print_json({"refused": reasons})
    else:
        say(f"The view is not shown: {', '.join(reasons)}.", "Next: another 'lapse return'.")
    raise typer.Exit(Exit.PROBLEMS)
