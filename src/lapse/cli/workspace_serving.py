"""`lapse workspace serve`, `token`, `mcp`: a workspace for agents in other processes."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated

import typer

from lapse.cli.output import Format, FormatOption, errors_explained, print_json, say, warn
from lapse.cli.stores import DEFAULT_STORE, AnchorOption, KeyOption
from lapse.cli.workspace_judges import BaseUrl, Judge, judging_named
from lapse.cli.workspace_options import (
    DEFAULT_CHARS,
    DEFAULT_ITEMS,
    DEFAULT_LIFETIME_S,
    Accept,
    Authority,
    Chars,
    Items,
    Key,
    Lifetime,
    NewStore,
    Principal,
    Role,
    Task,
    Tenant,
    WhenIncomplete,
    key_of,
    policy_of,
    workspace_at,
)
from lapse.errors import InvalidValue, MissingExtra, StoreReadOnly
from lapse.signing.private_files import read_private

if TYPE_CHECKING:
    from lapse.server.workspace_grants import Grant
    from lapse.server.workspace_tokens import Tokens

__all__ = ["mcp", "serve", "token"]

_PRIVATE = 0o600

TokensFile = Annotated[
    Path,
    typer.Option(
        "--tokens",
        envvar="LAPSE_TOKENS",
        help="The file that says who may call; it holds digests of tokens, and no token.",
    ),
]
Vouches = Annotated[
    str,
    typer.Option(
        "--observer", help="The name under which the caller vouches; none: it vouches for nothing."
    ),
]
Purposes = Annotated[
    list[str] | None,
    typer.Option("--only-purpose", help="A purpose it may return for; repeatable; none: any."),
]
Operator = Annotated[
    bool, typer.Option("--operator", help="It may see everything, and decide about every item.")
]


def token(
    principal: Principal,
    role: Role,
    tokens: TokensFile,
    task: Task = None,
    tenant: Tenant = None,
    only_purpose: Purposes = None,
    authority: Authority = "",
    observer: Vouches = "",
    operator: Operator = False,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Make a token for a caller, and print it once; the file keeps its digest."""
    with errors_explained():
        known = _read(tokens, new=True)
        made = token_urlsafe(32)
        grant = _grant(
            principal, role, task, tenant, only_purpose, authority, observer, operator=operator
        )
        _write(tokens, known.granting(made, grant))
    if format_ is Format.JSON:
        print_json({"token": made, "principal": principal, "role": role, "tokens": str(tokens)})
        return
    say(made)
    warn(f"This is shown once; {tokens} keeps its digest. To withdraw it, take its entry out.")


def serve(
    tokens: TokensFile,
    store: NewStore = DEFAULT_STORE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 picks a free one.", min=0, max=65535)
    ] = 8423,
    judge: Judge = "none",
    judge_url: BaseUrl = "",
    accept: Accept = None,
    max_items: Items = DEFAULT_ITEMS,
    max_chars: Chars = DEFAULT_CHARS,
    when_incomplete: WhenIncomplete = "block",
    lifetime_s: Lifetime = DEFAULT_LIFETIME_S,
    key: Key = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Run a workspace over HTTP; each caller is who its bearer token was made for."""
    with errors_explained(), ExitStack() as opened:
        try:
            from lapse.server.run import run
            from lapse.server.workspace_http import workspace_application
        except ImportError as missing:
            raise MissingExtra("lapse workspace serve", "server") from missing
        known = _read(tokens, new=False)
        # One for all tenants: a model in this process is loaded once, and asked by one at a time.
        judging = opened.enter_context(judging_named(judge, judge_url))
        spaces = {
            tenant: opened.enter_context(
                workspace_at(
                    store,
                    tenant=tenant,
                    anchor=anchor,
                    anchor_key=anchor_key,
                    new=True,
                    key=key_of(key, store),
                    policy=policy_of(
                        accept,
                        items=max_items,
                        chars=max_chars,
                        when_incomplete=when_incomplete,
                        lifetime_s=lifetime_s,
                    ),
                    judging=judging,
                )
            )
            for tenant in {grant.tenant for grant in known}
        }
        run(
            workspace_application(spaces, known),
            host=host,
            port=port,
            bound=lambda at, port_: _print_address(f"http://{at}:{port_}", format_),
        )
    if format_ is Format.TABLE:
        say("Stopped; requests that were open have been answered.")


def mcp(
    principal: Principal,
    role: Role,
    task: Task = None,
    store: NewStore = DEFAULT_STORE,
    tenant: Tenant = None,
    only_purpose: Purposes = None,
    authority: Authority = "",
    observer: Vouches = "",
    operator: Operator = False,
    judge: Judge = "none",
    judge_url: BaseUrl = "",
    accept: Accept = None,
    max_items: Items = DEFAULT_ITEMS,
    max_chars: Chars = DEFAULT_CHARS,
    when_incomplete: WhenIncomplete = "block",
    lifetime_s: Lifetime = DEFAULT_LIFETIME_S,
    key: Key = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
) -> None:
    """Offer a workspace's verbs as MCP tools on standard input and output, to one caller.

    The caller is who these options say; no argument of a tool changes that.
    """
    with errors_explained():
        try:
            import anyio

            from lapse.server.workspace_mcp import serve_stdio, workspace_server
        except ImportError as missing:
            raise MissingExtra("lapse workspace mcp", "mcp") from missing
        from lapse.server.workspace_seat import Seat

        grant = _grant(
            principal, role, task, tenant, only_purpose, authority, observer, operator=operator
        )
        with workspace_at(
            store,
            tenant=grant.tenant,
            anchor=anchor,
            anchor_key=anchor_key,
            new=True,
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
            anyio.run(serve_stdio, workspace_server(Seat(workspace, grant)))


def _grant(
    principal: str,
    role: str,
    task: str | None,
    tenant: str | None,
    purposes: list[str] | None,
    authority: str,
    observer: str,
    *,
    operator: bool,
) -> Grant:
    from lapse.server.workspace_grants import Grant

    return Grant(
        principal=principal,
        role=role,
        task=task or None,
        tenant=tenant or None,
        purposes=frozenset(purposes or ()),
        authority=authority,
        observer=observer,
        operator=operator,
    )


def _print_address(address: str, format_: Format) -> None:
    at = f"{address}/workspace"
    if format_ is Format.JSON:
        print_json({"address": address, "workspace": at, "openapi": f"{at}/openapi.json"})
        return
    say(f"Serving on {address}; stop with Ctrl-C.")
    say(f"Next: curl -s {at}/openapi.json")


def _read(file: Path, *, new: bool) -> Tokens:
    from lapse.server.workspace_tokens import Tokens

    if not file.exists():
        if new:
            return Tokens()
        remedy = "make it with 'lapse workspace token'; without a token nobody could call"
        raise InvalidValue("--tokens", str(file), remedy)
    return Tokens.parse(read_private(file))


def _write(file: Path, tokens: Tokens) -> None:
    """Put the new text in place of the old one, whole, for its owner's eyes."""
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(tokens.written())
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)
    except OSError as failure:
        remedy = "name a file in a directory that can be written"
        raise StoreReadOnly(f"{file} cannot be written ({failure.strerror}); {remedy}") from None
