"""`lapse mcp-proxy`: a memory of fixes for any MCP client, without a change to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapse.cli.output import Exit, errors_explained, warn
from lapse.cli.stores import DEFAULT_STORE, AnchorOption, KeyOption, anchor_at, shown
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from lapse.runtime import Event, Memory

__all__ = ["mcp_proxy"]

_CONSUME = ("watch", "brief", "apply")

CommandArgument = Annotated[
    list[str] | None,
    typer.Argument(help="The command that starts the server, after --.", show_default=False),
]
UrlOption = Annotated[
    str | None, typer.Option(help="The server's streamable HTTP endpoint.", show_default=False)
]
NewStoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LAPSE_STORE",
        help="The ledger, made where there is none: a path, sqlite:///PATH or postgresql://…",
    ),
]
IssuerOption = Annotated[
    str | None,
    typer.Option(
        help="The name fixes are bound to. Left out, it follows from the address or the command; "
        "name it where one server has several.",
        show_default=False,
    ),
]
ConsumeOption = Annotated[
    str,
    typer.Option(
        help="What happens with a fix that holds: 'watch' keeps it to itself, 'brief' tells the "
        "model, 'apply' merges it into the call under the tool's input schema."
    ),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        help="With --consume apply: a field, as a dotted path, that a fix may set although its "
        "name says that it moves money, addresses somebody or opens something; may be repeated.",
        show_default=False,
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A header of every request to --url, as NAME: VALUE; may be repeated.",
        show_default=False,
    ),
]


def mcp_proxy(
    command: CommandArgument = None,
    url: UrlOption = None,
    store: NewStoreOption = DEFAULT_STORE,
    issuer: IssuerOption = None,
    consume: ConsumeOption = "brief",
    allow: AllowOption = None,
    header: HeaderOption = None,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing on standard error.")] = False,
) -> None:
    """Stand between an MCP host and a server, and remember what the server's errors teach.

    Serves the host on standard input and output. Everything passes through as it is; what was
    learned, kept or dropped is said on standard error.
    """
    with errors_explained():
        import anyio

        from lapse.contract import AmendmentRules, FieldRules
        from lapse.transports.mcp_proxy import Behind, Consume, run

        if consume not in _CONSUME:
            raise InvalidValue("--consume", consume, f"pick one of {', '.join(_CONSUME)}")
        if allow and consume != "apply":
            raise InvalidValue("--allow", allow, "leave it out, or pass --consume apply")
        rules = AmendmentRules(fields=FieldRules(allowed=frozenset(allow or ())))
        behind = Behind(
            command=tuple(command or ()),
            url=url,
            environment=os.environ,  # the host set it up for the server
            headers=dict(_header(line) for line in header or ()),
        )
        with _memory(store, anchor, anchor_key) as memory:
            if not quiet:
                memory.observe(_report)
                warn(f"lapse: remembering for {issuer or behind.issuer} in {shown(store)}")
            how = Consume(consume)
            gone = anyio.run(lambda: run(memory, behind, issuer=issuer, consume=how, rules=rules))
    if gone:
        warn("lapse: the server ended")
        raise typer.Exit(Exit.PROBLEMS)


def _memory(store: str, anchor: Path | None, key: Path | None) -> Memory:
    from lapse.assembly import open as open_memory

    return open_memory(store, anchor=None if anchor is None else anchor_at(anchor, key))


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise InvalidValue("--header", name, "pass NAME: VALUE")
    return name.strip(), value.strip()


def _report(event: Event) -> None:
    about = event.source or (event.record or "")[:12]
    count = "" if event.count == 1 else f" ({event.count})"
    warn(f"lapse: {event.what}{count}: {event.reason} {about}".rstrip())
