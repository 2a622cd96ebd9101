"""`lapse memory`: look at what is remembered, ask why, take it away, carry it elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse.assembly import open_store
from lapse.cli.output import (
    Format,
    FormatOption,
    counted,
    errors_explained,
    iso,
    print_json,
    print_table,
    say,
)
from lapse.cli.stores import (
    DEFAULT_STORE,
    AnchorOption,
    KeyOption,
    StoreOption,
    memory_at,
    shown,
    store_at,
)
from lapse.errors import InvalidValue, LedgerNotTrusted
from lapse.ledger import Break, Scope, Source, examine, genesis
from lapse.wire import read_export, write_export

if TYPE_CHECKING:
    from lapse.ledger import Change, Chapter, Record
    from lapse.runtime import Memory

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Look at what is remembered, ask why, remove it, carry it elsewhere."
)

_SHORT = 12
"""Characters of an id that the table shows; commands take any beginning that is unique."""


@app.command("list")
def list_(
    store: StoreOption = DEFAULT_STORE,
    all_: Annotated[
        bool, typer.Option("--all", help="Also what was evicted, superseded, revoked or purged.")
    ] = False,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """List the records, oldest first."""
    with memory_at(store, anchor, anchor_key) as memory:
        records = memory.records(live=not all_)
    if format_ is Format.JSON:
        print_json({"records": [_record_json(record) for record in records]})
        return
    rows = [
        (r.id[:_SHORT], r.status, r.issuer, r.topic or r.slot, _gist(r), iso(r.valid.since))
        for r in records
    ]
    columns = ("id", "status", "issuer", "operation", "remembered", "since")
    print_table(
        f"{counted(len(rows), 'record')} in {shown(store)}",
        columns,
        rows,
        empty=f"Nothing is remembered in {shown(store)}.",
    )
    if rows:
        say("Next: 'lapse memory why ID' tells a record's whole story.")


@app.command()
def show(
    record: Annotated[str, typer.Argument(help="The record's id, as 'list' shows it.")],
    store: StoreOption = DEFAULT_STORE,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Show one record: what is remembered, and what it rests on."""
    with memory_at(store, anchor, anchor_key) as memory:
        found = memory.record(_named(memory, record))
    value = _record_json(found)
    if format_ is Format.JSON:
        print_json(value)
        return
    rows = [
        (name, json.dumps(v, ensure_ascii=False) if isinstance(v, (dict, list)) else v)
        for name, v in value.items()
    ]
    print_table(f"Record {found.id}", ("field", "value"), rows, empty="")


@app.command()
def why(
    record: Annotated[str, typer.Argument(help="The record's id, as 'list' shows it.")],
    store: StoreOption = DEFAULT_STORE,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Tell the whole story of a record, in order, with reasons."""
    with memory_at(store, anchor, anchor_key) as memory:
        record = _named(memory, record)
        chapters = memory.why(record)
        status = memory.record(record).status
    if format_ is Format.JSON:
        print_json(
            {"record": record, "status": status, "story": [_chapter_json(c) for c in chapters]}
        )
        return
    rows = [(c.seq, iso(c.at), c.what, c.reason, _told(c)) for c in chapters]
    print_table(
        f"Record {record} is {status}", ("change", "at", "what", "reason", "detail"), rows, empty=""
    )


@app.command()
def purge(
    records: Annotated[list[str] | None, typer.Argument(help="The ids of the records.")] = None,
    store: StoreOption = DEFAULT_STORE,
    tenant: Annotated[str | None, typer.Option(help="Every record of this tenant.")] = None,
    principal: Annotated[str | None, typer.Option(help="Every record of this principal.")] = None,
    role: Annotated[str | None, typer.Option(help="Every record of this role.")] = None,
    task: Annotated[str | None, typer.Option(help="Every record of this task.")] = None,
    purpose: Annotated[str | None, typer.Option(help="Every record for this purpose.")] = None,
    issuer: Annotated[str | None, typer.Option(help="Every record of this issuer.")] = None,
    reason: Annotated[str, typer.Option(help="Kept in the ledger with the tombstone.")] = "asked",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    anchor: AnchorOption = None,
    anchor_key: KeyOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Remove content everywhere, by ids or by scope; ids and digests stay as tombstones."""
    scope = Scope(tenant=tenant, principal=principal, role=role, task=task, purpose=purpose)
    with memory_at(store, anchor, anchor_key) as memory:
        by_scope = scope != Scope() or issuer is not None
        if by_scope is bool(records):
            raise InvalidValue(
                "records", records, "name records or a scope (--tenant, --issuer, …), not both"
            )
        if not yes:
            typer.confirm("The content cannot be brought back. Go on?", abort=True, err=True)
        if records:
            count = memory.purge(
                [_named(memory, name) for name in records], reason=reason, actor="cli"
            )
        else:
            count = memory.purge_scope(scope, issuer=issuer, reason=reason, actor="cli")
    if format_ is Format.JSON:
        print_json({"purged": count})
    else:
        say(
            f"Purged {counted(count, 'record')}.",
            "Next: 'lapse ledger verify' shows that the chain still holds.",
        )


@app.command("export")
def export_(
    file: Annotated[
        Path, typer.Argument(help="Where to write: one JSON object a line, the ledger first.")
    ],
    store: StoreOption = DEFAULT_STORE,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Write the whole ledger, chain and all, to a file that 'import' reads."""
    with store_at(store) as opened:
        # Written beside and renamed: an export that was interrupted is not taken for a whole one.
        beside = file.with_name(f"{file.name}.part")
        try:
            with beside.open("w", encoding="utf-8") as out:
                out.writelines(write_export(opened.ledger, opened.changes()))
            beside.replace(file)
        except OSError as failure:
            beside.unlink(missing_ok=True)
            raise InvalidValue(
                "file", str(file), f"name a file that can be written ({failure.strerror})"
            ) from None
        count = opened.head().seq
    if format_ is Format.JSON:
        print_json({"changes": count, "file": str(file)})
    else:
        say(f"Wrote {counted(count, 'change')} to {file}.")
        say(f"Next: 'lapse memory import {file} --store NEW' reads them into a new ledger.")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file that 'export' wrote.")],
    store: StoreOption = DEFAULT_STORE,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Read an exported ledger into a new store, after checking its chain."""
    with errors_explained():
        ledger, changes = _read(file)
        found = examine(ledger, changes)
        if isinstance(found, Break):
            raise LedgerNotTrusted(found)
        opened = open_store(store, ids=_Given(ledger))
        try:
            if opened.ledger != ledger or opened.head().seq:
                raise InvalidValue(
                    "--store",
                    shown(store),
                    "name a place where there is no ledger yet; two cannot be merged",
                )
            if changes:
                opened.append(changes, after=genesis(ledger))
        finally:
            opened.close()
    if format_ is Format.JSON:
        print_json({"changes": len(changes), "store": shown(store)})
    else:
        say(
            f"Read {counted(len(changes), 'change')} into {shown(store)}.",
            f"Next: 'lapse memory list --store {shown(store)}'.",
        )


class _Given:
    """Gives a new ledger the id of the one that was exported."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def new(self) -> str:
        return self._ledger


def _read(file: Path) -> tuple[str, tuple[Change, ...]]:
    try:
        with file.open(encoding="utf-8") as lines:
            return read_export(lines)
    except OSError as failure:
        raise InvalidValue(
            "file", str(file), f"name a file that can be read ({failure.strerror})"
        ) from None
    except UnicodeError:
        raise InvalidValue(
            "file", str(file), "pass a file that 'lapse memory export' wrote"
        ) from None


def _named(memory: Memory, name: str) -> str:
    """The id that a person means: whole, or the beginning of just one."""
    ids = [record.id for record in memory.records(live=False)]
    if name in ids:
        return name
    meant = [record_id for record_id in ids if name and record_id.startswith(name)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InvalidValue(
            "record", name, f"write more of the id; {len(meant)} records begin like this"
        )
    return memory.record(name).id


def _record_json(record: Record) -> dict[str, Any]:
    return {"id": record.id, "status": record.status.value, **record.as_json()}


def _chapter_json(chapter: Chapter) -> dict[str, Any]:
    return {
        "change": chapter.seq,
        "at": iso(chapter.at),
        "what": chapter.what.value,
        "reason": chapter.reason,
        "actor": chapter.actor,
        "source": None if chapter.source is None else str(chapter.source),
        "version": chapter.version,
        "detail": chapter.detail,
    }


def _gist(record: Record) -> str:
    content = record.content
    if "parameters" in content:
        return f"{content.get('type')} {json.dumps(content['parameters'], ensure_ascii=False)}"
    return json.dumps(content, ensure_ascii=False)


def _told(chapter: Chapter) -> str:
    if chapter.source is not None:
        return f"{chapter.source} at {chapter.version}"
    match chapter.detail:
        case {"cause": cause, "was": was, "now": now}:
            return f"{Source.from_parts(cause)}: {_version(was)} → {_version(now)}"
        case {"content": content}:
            return json.dumps(content, ensure_ascii=False)
        case None:
            return "purged"
        case detail:
            return json.dumps(detail, ensure_ascii=False)


def _version(version: object) -> str:
    return "absent" if version is None else str(version)
