"""A service's side of the contract, held for as long as the service runs.

What goes out with every response is worked out once per reload, not once per response: a request
only picks up what is ready. A reload swaps one immutable registry for the next under a lock;
whoever reads tables keeps the registry they began with, so no decision sees half a reload.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapse.contract import (
    Emission,
    Envelope,
    Level,
    Reading,
    Registry,
    Reload,
    Rule,
    TableChanges,
    Violation,
)
from lapse.errors import InvalidValue
from lapse.ledger import canonical
from lapse.server.digests import (
    Digest,
    digest_members,
    held_by_client,
    request_of_client,
)
from lapse.server.exchange import Answer, problem_answer
from lapse.server.state_file import StateFile
from lapse.wire import (
    Problem,
    changes_members,
    contract_fields,
    envelope_members,
    graph_members,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from lapse.contract import Aliases, Suggestion
    from lapse.server.signing import Publication, Signing

__all__ = ["LEAVING", "Contract", "Published", "Rejected"]

UNPROCESSABLE = 422
_TAG_DIGITS = 32
"""Of a root in hex: 128 bits tell states apart (C-VER-05)."""


@dataclass(frozen=True, slots=True)
class Published:
    """One state of a service's tables, with everything that is sent of it ready.

    Attributes:
        registry: the tables, rules and change log.
        members: the contract members of a success body.
        lines: the header lines that go with every response.
        versions_body: the answer of the versions endpoint.
        etag: its strong entity tag, quoted.
        digest: what it is called for short; None when the service says no versions.
        signed: what is signed of it; None when the service does not sign.
    """

    registry: Registry
    members: Mapping[str, Any]
    lines: tuple[tuple[bytes, bytes], ...]
    versions_body: bytes
    etag: str
    digest: Digest | None = None
    signed: Publication | None = None


class Rejected(Exception):
    """A request that a policy does not let pass; the server's seat answers it with 422.

    Raise it inside `Contract.reading`, so that the answer reports the versions that were read.
    """

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.title)
        self.violation = violation
        self.registry: Registry | None = None


def _as_it_is(rejected: Rejected) -> Rejected:
    return rejected


LEAVING: ContextVar[Callable[[Rejected], Rejected]] = ContextVar("LEAVING", default=_as_it_is)
"""How a rejection leaves `Contract.reading` in the current call.

A seat inside a framework that turns every exception of a handler into text sets it to a subclass of
`Rejected` that the framework lets through.
"""


class Contract:
    """The contract of one service. Safe to use from any thread.

    Args:
        registry: the tables to begin with; a state file that is newer wins over it.
        level: the wire level: 0, 1, 4, 5 or 6.
        extensions: whether `rows` and `when`, which the source text lacks, are sent.
        operator_token: the bearer token that reloads need; None: the endpoint refuses everybody.
        location: the path under which the contract endpoints are.
        state_file: where versions, rows and the change log are kept over restarts; None: nowhere.
        signing: signs what is said about the tables; None: nothing is signed.
        aliases: what tables and rows are called on the wire; None: by their names. An operator's
            reloads, and the answers to them, have the true names all the same.

    Raises:
        InvalidValue: an argument holds something it may not hold.
        StoreError: the state file cannot be used.
    """

    def __init__(  # noqa: PLR0913 - a service has as many choices
        self,
        registry: Registry,
        *,
        level: int = Level.L6,
        extensions: bool = True,
        operator_token: str | None = None,
        location: str = "/contract",
        state_file: str | Path | None = None,
        signing: Signing | None = None,
        aliases: Aliases | None = None,
    ) -> None:
        if operator_token == "":
            remedy = "pass a secret, or None to refuse every reload"
            raise InvalidValue("operator_token", operator_token, remedy)
        if not location.startswith("/") or location.endswith("/") or not location.isascii():
            remedy = "pass an absolute path in ASCII, without a slash at its end"
            raise InvalidValue("location", location, remedy)
        if level not in {known.value for known in Level}:
            raise InvalidValue("level", level, "pass 0, 1, 4, 5 or 6")
        self.emission = Emission(level=Level(level), extensions=extensions, aliases=aliases)
        self._aliases = aliases
        self._signing = signing
        self.operator_token = operator_token
        self.location = location
        self._lock = threading.Lock()
        self._state_file = None if state_file is None else StateFile(Path(state_file))
        if self._state_file is not None:
            registry = self._state_file.opened(registry)
        self._published = self._publication(registry)
        self._watchers: list[Callable[[Registry, Registry], None]] = []

    @property
    def published(self) -> Published:
        """The state now, with everything that is sent of it."""
        return self._published

    @property
    def registry(self) -> Registry:
        """The tables, rules and change log now."""
        return self._published.registry

    @property
    def lines(self) -> tuple[tuple[bytes, bytes], ...]:
        """The header lines that go with every response now, signed if the service signs."""
        published = self._published
        return published.lines if published.signed is None else published.signed.lines

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The header lines that go with every response now, ready to append."""
        return self.lines

    @property
    def stamp(self) -> dict[str, Any] | None:
        """The signed statement for carriers without header lines; None when nothing is signed."""
        signed = self._published.signed
        return None if signed is None else signed.member

    def envelope_members(self, *, success: bool = True) -> dict[str, Any]:
        """The contract members of a body, to merge into it; none if the client has them all."""
        published = self._published
        if held_by_client(self, published.registry) is not None:
            return {}
        members = dict(published.members)
        return members if success else {**members, "success": False} if members else members

    @contextmanager
    def reading(self) -> Generator[Reading]:
        """Read tables for one decision; what is read becomes the stamps of its suggestions."""
        tables = Reading(self.registry)
        try:
            yield tables
        except Rejected as rejected:
            rejected.registry = tables.registry
            leaving = LEAVING.get()(rejected)
            if leaving is rejected:
                raise
            raise leaving from rejected

    def reload(
        self,
        table: str,
        rows: Mapping[str, Any] | None,
        version: str | None = None,
    ) -> Reload:
        """Replace a table's rows, load a new table, or unload one (rows None).

        It is kept in the state file before anybody sees it.

        Raises:
            InvalidValue: as `Registry.reload`.
            StoreError: it could not be kept; nothing changed.
        """
        reload = self.reload_if(lambda _: True, table, rows, version)
        assert reload is not None  # noqa: S101 - the condition always holds
        return reload

    def reload_if(
        self,
        condition: Callable[[Published], bool],
        table: str,
        rows: Mapping[str, Any] | None,
        version: str | None = None,
    ) -> Reload | None:
        """As `reload`, if the state at that moment meets a condition; None when it does not."""
        with self._lock:
            if not condition(self._published):
                return None
            registry, reload = self.registry.reload(table, rows, version)
            self._publish(registry)
            return reload

    def declare(self, rules: Iterable[Rule]) -> str:
        """Replace the derivation rules; returns their fingerprint.

        Raises:
            InvalidValue: two rules differ in nothing but their `via`.
            StoreError: it could not be kept; nothing changed.
        """
        with self._lock:
            self._publish(self.registry.with_rules(rules))
            return self.registry.rules_version

    def changes_since(self, table: str, version: str) -> TableChanges:
        """What changed in a table since a version, under the names on the wire."""
        return self._changes_since(self._published, table, version)

    def changes_members(self, table: str, version: str) -> dict[str, Any]:
        """The same as a JSON object, signed if the service signs."""
        published = self._published
        members = changes_members(self._changes_since(published, table, version))
        return members if published.signed is None else published.signed.answer(members)

    def _changes_since(self, published: Published, table: str, version: str) -> TableChanges:
        registry, aliases = published.registry, self._aliases
        if aliases is None:
            return registry.changes_since(table, version)
        named = self.true_name(table)
        if named is None:
            return TableChanges(table=table, since=version, version=None, complete=False)
        return aliases.changes(registry.changes_since(named, version), asked=table)

    def true_name(self, table: str) -> str | None:
        """The table that is called so on the wire; None when none is or was."""
        if self._aliases is None:
            return table
        registry = self.registry
        return self._aliases.named(table, dict.fromkeys((*registry.tables, *registry.log)))

    def wire_name(self, table: str) -> str:
        """What a table is called on the wire."""
        return table if self._aliases is None else self._aliases.table(table)

    def graph_members(self) -> dict[str, Any]:
        """The knowledge graph as a JSON object, under the names on the wire."""
        registry = self.registry
        return graph_members(registry.graph, registry.table_versions, aliases=self._aliases)

    def problem(
        self, violation: Violation, *, registry: Registry | None = None, accept: str | None = None
    ) -> Answer:
        """The 422 answer to a violation; at Level 0 it says what is wrong and nothing else.

        Args:
            violation: what was violated.
            registry: the tables that the violation was found in; None: those of now.
            accept: the request's Accept header.
        """
        now = self.registry if registry is None else registry
        members = self.failure_members(now, violation.suggestions)
        return problem_answer(self.problem_of(violation), members, accept=accept)

    def failure_members(
        self, registry: Registry, suggestions: tuple[Suggestion, ...]
    ) -> dict[str, Any]:
        """The contract members of a failure's body, beside a digest if the client holds the map.

        Args:
            registry: the tables that the suggestions come from.
            suggestions: fixes, best first.
        """
        envelope = self.emission.envelope(registry, success=False, suggestions=suggestions)
        held = held_by_client(self, registry)
        if held is None:
            return envelope_members(envelope)
        return digest_members(envelope, held, request_of_client())

    def problem_of(self, violation: Violation) -> Problem:
        """What is said to people about a violation; with aliases, no table is named in it."""
        policy, title, detail = violation.policy, violation.title, violation.detail
        more = violation.more
        if self._aliases is not None:
            tables, said = tuple(self.registry.tables), self._aliases.text
            policy, title, detail = said(policy, tables), said(title, tables), said(detail, tables)
            more = self._aliases.members(more, tables)
        return Problem(
            type=self.problem_type(policy),
            title=title,
            status=UNPROCESSABLE,
            detail=detail,
            more=more,
        )

    def problem_type(self, policy: str) -> str:
        """The URI reference that names a kind of problem: the policy itself if it is a URI."""
        return policy if ":" in policy else f"{self.location}/problems#{policy}"

    def _publish(self, registry: Registry) -> None:
        if registry is self.registry:
            return
        # Signed first: an epoch that is kept and not used harms nobody, one used and not kept does.
        publication = self._publication(registry, self._published.digest)
        if self._state_file is not None:
            self._state_file.keep(registry)
        before = self.registry
        self._published = publication
        for watcher in tuple(self._watchers):
            watcher(before, registry)

    def watch(self, watcher: Callable[[Registry, Registry], None]) -> None:
        """Tell this watcher of every reload: the registry before, and the one that stands now.

        It is called in the thread that reloads, in order, and must return at once without raising.
        """
        self._watchers.append(watcher)

    def _publication(self, registry: Registry, before: Digest | None = None) -> Published:
        envelope = self.emission.envelope(registry, success=True, location=self.location)
        lines = contract_fields(
            table_versions=envelope.table_versions,
            rules_version=envelope.rules_version,
            location=envelope.location,
        )
        said = Envelope(
            table_versions=envelope.table_versions, rules_version=envelope.rules_version
        )
        versions = envelope_members(said)
        plain = tuple((name.lower().encode(), value.encode()) for name, value in lines)
        digest = signed = None
        if said.table_versions is None:
            root = hashlib.sha256(canonical(versions)).hexdigest()
        else:
            digest = Digest(
                said.table_versions, said.rules_version, location=self.location, before=before
            )
            root = digest.held.root
        if self._signing is not None and digest is not None:
            signed = self._signing.publication(root, registry, plain)
        return Published(
            registry=registry,
            members=envelope_members(envelope),
            lines=plain,
            versions_body=write(versions),
            etag=f'"{root[:_TAG_DIGITS]}"',
            digest=digest,
            signed=signed,
        )
