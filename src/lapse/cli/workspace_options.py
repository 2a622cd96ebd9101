"""Which workspace a command is about, who it acts for, and how returns are decided in it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Annotated

import typer

from lapse.cli.output import errors_explained
from lapse.cli.stores import anchor_at, store_at
from lapse.cli.workspace_judges import judging_named
from lapse.errors import InvalidValue, UnknownRecord
from lapse.ledger import Scope

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from lapse.admission import Policy
    from lapse.runtime import Judging, Workspace

__all__ = [
    "DEFAULT_CHARS",
    "DEFAULT_ITEMS",
    "DEFAULT_LIFETIME_S",
    "Accept",
    "Authority",
    "Chars",
    "Items",
    "Key",
    "Lifetime",
    "LookedAt",
    "NewStore",
    "Observer",
    "Principal",
    "Purpose",
    "Role",
    "Task",
    "Tenant",
    "WhenIncomplete",
    "Why",
    "Writer",
    "id_in",
    "identity",
    "key_of",
    "policy_of",
    "workspace_at",
]

NewStore = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LAPSE_STORE",
        help="The ledger, made where there is none: a path, sqlite:///PATH or postgresql://…",
    ),
]
Tenant = Annotated[
    str | None, typer.Option(envvar="LAPSE_TENANT", help="Whose workspace; one ledger holds many.")
]
Principal = Annotated[
    str, typer.Option(envvar="LAPSE_PRINCIPAL", help="The agent that leaves and returns.")
]
Role = Annotated[str, typer.Option(envvar="LAPSE_ROLE", help="Its role.")]
Task = Annotated[str | None, typer.Option(envvar="LAPSE_TASK", help="Its task; none: any.")]
Purpose = Annotated[
    str, typer.Option(envvar="LAPSE_PURPOSE", help="What it is back for, such as booking.")
]
Writer = Annotated[str, typer.Option("--by", envvar="LAPSE_PRINCIPAL", help="Who says so.")]
Authority = Annotated[
    str,
    typer.Option(
        envvar="LAPSE_AUTHORITY",
        help="What sort of speaker that is: user, tool, agent, inference; a lower one does not "
        "overrule a higher one.",
    ),
]
Observer = Annotated[
    str,
    typer.Option(
        help="Who has seen that it is so, and vouches for it; what nobody vouches for is shown "
        "to nobody."
    ),
]
LookedAt = Annotated[str | None, typer.Option("--looked-at", help="What was looked at to know it.")]
Why = Annotated[str, typer.Option("--why", help="The reason, kept with the decision.")]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key",
        envvar="LAPSE_VIEW_KEY",
        help="The file of the key that signs views; STORE.key when left out, made where there is "
        "none.",
    ),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        envvar="LAPSE_ACCEPT",
        help="Whose receipts count; may be repeated. With nobody's, nothing is shown.",
    ),
]
Items = Annotated[int, typer.Option("--max-items", min=1, help="The most items in a view.")]
Chars = Annotated[int, typer.Option("--max-chars", min=1, help="The most characters in a view.")]
WhenIncomplete = Annotated[
    str,
    typer.Option(
        help="Without a complete view: 'block' waits, 'reset' goes on with nothing inherited."
    ),
]
Lifetime = Annotated[
    int, typer.Option("--lifetime-s", min=1, help="For how many seconds a view may be shown.")
]

DEFAULT_ITEMS = 8
DEFAULT_CHARS = 4096
DEFAULT_LIFETIME_S = 3600
"""As `lapse.admission.Policy` has them, which is loaded when a command runs."""

_SECOND_US = 1_000_000


@errors_explained()
def identity(principal: str, role: str, task: str | None, purpose: str | None = None) -> Scope:
    """Who leaves, or returns.

    Raises:
        InvalidValue: it is nobody.
    """
    for name, value in (("--principal", principal), ("--role", role), ("--purpose", purpose)):
        if value == "":
            raise InvalidValue(name, value, "name principal, role and purpose")
    return Scope(principal=principal, role=role, task=task or None, purpose=purpose)


@errors_explained()
def policy_of(
    accept: Sequence[str] | None,
    *,
    items: int = DEFAULT_ITEMS,
    chars: int = DEFAULT_CHARS,
    when_incomplete: str = "block",
    lifetime_s: int = DEFAULT_LIFETIME_S,
) -> Policy:
    """How returns are decided.

    Raises:
        InvalidValue: a choice is none.
    """
    from lapse.admission import Budget, Incomplete, Policy

    choices = [one.value for one in Incomplete]
    if when_incomplete not in choices:
        raise InvalidValue("--when-incomplete", when_incomplete, f"pick one of {choices}")
    return Policy(
        observers=frozenset(accept or ()),
        budget=Budget(items=items, chars=chars),
        when_incomplete=Incomplete(when_incomplete),
        lifetime_us=lifetime_s * _SECOND_US,
    )


@errors_explained()
def key_of(key: Path | None, store: str) -> Path:
    """The file of the key that signs a store's views.

    Raises:
        InvalidValue: it does not follow from the store.
    """
    if key is not None:
        return key
    path = store.removeprefix("sqlite:///")
    if "://" in path:
        remedy = "name the file of the key that signs views; it does not follow from the store"
        raise InvalidValue("--key", None, remedy)
    return Path(f"{path}.key")


@contextmanager
def workspace_at(
    store: str,
    *,
    tenant: str | None,
    anchor: Path | None,
    anchor_key: Path | None,
    new: bool = False,
    key: Path | None = None,
    policy: Policy | None = None,
    judge: str = "none",
    judge_url: str = "",
    judging: Judging | None = None,
) -> Generator[Workspace]:
    """A workspace for one command.

    Args:
        store: the ledger.
        tenant: whose workspace.
        anchor: what vouches for the ledger.
        anchor_key: what signs that.
        new: whether the ledger is made where there is none.
        key: the file of the key that signs views; None: this command neither signs nor shows one.
        policy: how returns are decided.
        judge: who answers, as `lapse.cli.workspace_judges` names it.
        judge_url: where the service of a model is.
        judging: who answers, where several workspaces share one; then `judge` is left out.
    """
    if not new:
        with store_at(store):
            pass
    with errors_explained(), judging_named(judge, judge_url) as named:
        from lapse.assembly import workspace

        with workspace(
            store,
            # A key that nobody knows: a view that was signed with it would be shown to nobody.
            key=token_bytes(32) if key is None else key,
            create_key=True,
            policy=policy,
            judging=judging or named,
            tenant=tenant,
            anchor=None if anchor is None else anchor_at(anchor, anchor_key),
        ) as opened:
            yield opened


def id_in(workspace: Workspace, name: str) -> str:
    """The item that a person means: its whole id, or the beginning of just one.

    Raises:
        InvalidValue: several begin like this.
        UnknownRecord: none does.
    """
    ids = [
        record.id
        for record in workspace.store.state().records()
        if record.content.get("form") == "work" and record.scope.tenant == workspace.tenant
    ]
    if name in ids:
        return name
    meant = [item_id for item_id in ids if name and item_id.startswith(name)]
    if len(meant) > 1:
        raise InvalidValue("id", name, f"write more of it; {len(meant)} items begin like this")
    if not meant:
        raise UnknownRecord(f"id is {name!r}: there is no such item; 'lapse items' lists them")
    return meant[0]
