"""Signs what a service says about its tables: once per state, not once per response.

A publication is signed when it is first sent, and again when half of its lifetime is over, in the
request that finds it so; no thread waits for that. Every other response carries bytes that are
ready. The epoch is chosen, and durable, before anybody can see a statement that has it.

::

    signing = Signing(
        Ed25519Signer("2026", secret), issuer="https://api.example", clock=clock,
        epoch_file="acme.epoch",
    )
    contract = Contract(registry, signing=signing)
"""

from __future__ import annotations

import json
import os
import threading
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import Statement, check_name
from lapse.errors import InvalidValue, StoreCorrupt, StoreError
from lapse.ledger import encode
from lapse.wire import (
    Signed,
    http_stamp,
    object_stamp,
    read_http_stamp,
    read_object_stamp,
    signed_answer,
)
from lapse.wire.digests import print_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.contract import Registry, Table
    from lapse.ledger import Clock, Instant
    from lapse.wire import Reason, StampSigner

    Lines = tuple[tuple[bytes, bytes], ...]
    _Made = tuple[Instant, Instant, Lines, dict[str, Any], str, str]
    """From when, until when, as lines and as an object, and what clients call the two."""

__all__ = ["Publication", "Signing"]

_SECOND: Final = 1_000_000
_MILLISECOND: Final = 1_000
_ANSWERS: Final = 1_024
"""Signed answers kept for one publication: asking again costs the service nothing."""


class Signing:
    """Signs a service's publications. Safe to use from any thread.

    Args:
        signer: signs; `Ed25519Signer`, or `HmacKeys` inside one trust domain.
        issuer: the name clients bind to it: its public origin, such as ``https://api.example``.
        clock: tells the time.
        audience: to whom it speaks, when each tenant has a contract of its own; empty: everybody.
        lifetime_s: how long a statement is to be believed; a proxy can freeze it for so long.
        epoch_file: keeps the epoch over restarts; without it the clock alone keeps epochs growing.
        following: id and public key of the key that signs next: clients that trusted this one on
            first use will trust that one, too.
        offers_key: whether the public key itself is sent, for clients that trust it on first use.

    Raises:
        InvalidValue: an argument holds something it may not hold.
    """

    def __init__(  # noqa: PLR0913 - a statement has as many parts
        self,
        signer: StampSigner,
        *,
        issuer: str,
        clock: Clock,
        audience: str = "",
        lifetime_s: int = 300,
        epoch_file: str | Path | None = None,
        following: tuple[str, bytes] | None = None,
        offers_key: bool = True,
    ) -> None:
        if lifetime_s < 2:  # noqa: PLR2004 - half of it has to be a whole second
            raise InvalidValue("lifetime_s", lifetime_s, "pass 2 seconds or more")
        self.signer = signer
        self.issuer = check_name("issuer", issuer)
        self.audience = audience and check_name("audience", audience)
        self.clock = clock
        self.lifetime_us = lifetime_s * _SECOND
        self.offered = _offered(signer, following, offers_key=offers_key)
        self._epoch_file = None if epoch_file is None else Path(epoch_file)
        self._last = self._kept()
        self._digests: dict[str, tuple[Table, str]] = {}
        self._lock = threading.Lock()

    def publication(self, root: str, registry: Registry, lines: Lines) -> Publication:
        """Give a state its epoch, durably.

        Args:
            root: the root of its versions.
            registry: its tables.
            lines: the header lines that the signed ones are added to.

        Raises:
            StoreError: the epoch could not be kept; nothing was published.
        """
        with self._lock:
            content = self._content(registry)
            epoch, *state = self._last or (0, "", "")
            if state != [root, content]:
                # From the clock, so that a service that lost its file does not fall back.
                epoch = max(epoch + 1, self.clock.now() // _MILLISECOND)
                self._keep(epoch, root, content)
                self._last = (epoch, root, content)
        return Publication(self, root=root, content=content, epoch=epoch, lines=lines)

    def _content(self, registry: Registry) -> str:
        """A digest of all rows; only a table that is another object is read again."""
        held = self._digests
        self._digests = {
            name: known
            if (known := held.get(name)) is not None and known[0] is table
            else (table, sha256(encode(dict(table.rows))).hexdigest())
            for name, table in registry.tables.items()
        }
        digests = {name: digest for name, (_, digest) in self._digests.items()}
        # Keyed like the row versions: rows with few possible values must not be guessed from it.
        return sha256(encode([registry.secret, digests])).hexdigest()

    def _kept(self) -> tuple[int, str, str] | None:
        path = self._epoch_file
        if path is None:
            return None
        try:
            value: object = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise StoreError(f"{path} cannot be read: {failure.strerror}") from failure
        except (ValueError, RecursionError):
            value = None
        match value:
            case {"epoch": int(epoch), "root": str(root), "content": str(content)}:
                return epoch, root, content
            case _:
                # Starting again at a lower epoch would look like an attack to every client.
                raise StoreCorrupt(f"{path} is not the epoch that was kept; restore it")

    def _keep(self, epoch: int, root: str, content: str) -> None:
        path = self._epoch_file
        if path is None:
            return
        beside = path.with_name(f".{path.name}.new")
        try:
            with beside.open("wb") as file:
                file.write(encode({"epoch": epoch, "root": root, "content": content}))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as failure:
            raise StoreError(f"{path} cannot be written: {failure.strerror}") from failure


def _offered(
    signer: StampSigner, following: tuple[str, bytes] | None, *, offers_key: bool
) -> dict[str, bytes]:
    public: bytes | None = getattr(signer, "public", None)  # an HMAC key is no one else's to know
    offered = {signer.key: public} if offers_key and public is not None else {}
    return {**offered, **({} if following is None else {following[0]: following[1]})}


def _print(signed: Signed | Reason | None) -> str:
    return print_of(signed.signature) if isinstance(signed, Signed) else ""


class Publication:
    """One state of a service's tables, signed for as long as it stands. Safe from any thread."""

    __slots__ = ("_answers", "_epoch", "_lock", "_made", "_plain", "_signing", "_state")

    def __init__(
        self, signing: Signing, *, root: str, content: str, epoch: int, lines: Lines
    ) -> None:
        self._signing = signing
        self._state = root, content
        self._epoch = epoch
        self._plain = lines
        self._lock = threading.Lock()
        self._made: _Made | None = None
        self._answers: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def lines(self) -> Lines:
        """The header lines that go with a response now."""
        return self._now()[2]

    @property
    def stamp_lines(self) -> Lines:
        """Those of them that are the signed statement."""
        return self._now()[2][len(self._plain) :]

    @property
    def member(self) -> dict[str, Any]:
        """The signed statement as an object, for carriers without header lines."""
        return self._now()[3]

    @property
    def line_print(self) -> str:
        """What clients call the statement that stands now, in header lines."""
        return self._now()[4]

    @property
    def member_print(self) -> str:
        """What clients call it as an object."""
        return self._now()[5]

    def _now(self) -> _Made:
        made = self._made
        now = self._signing.clock.now()
        if made is None or not made[0] <= now < made[1]:
            made = self._sign(now)
        return made

    def answer(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to what changed in a table since a version, signed."""
        question = str(members["table"]), str(members["since"])
        with self._lock:
            known = self._answers.get(question)
            if known is None:
                statement = self._statement(self._signing.clock.now())
                known = signed_answer(members, statement, self._signing.signer)
                if len(self._answers) >= _ANSWERS:
                    del self._answers[next(iter(self._answers))]
                self._answers[question] = known
        return known

    def _sign(self, now: Instant) -> _Made:
        signing = self._signing
        with self._lock:
            made = self._made
            if made is not None and made[0] <= now < made[1]:
                return made  # another request was first
            statement = self._statement(now)
            offered = signing.offered
            fields = http_stamp(statement, signing.signer, offered=offered)
            lines = tuple((name.lower().encode(), value.encode()) for name, value in fields)
            member = object_stamp(statement, signing.signer, offered=offered)
            renew = statement.issued_at + signing.lifetime_us // 2
            # A clock that was set back makes a new one, too: clients may live by the right time.
            prints = _print(read_http_stamp(fields)), _print(read_object_stamp(member))
            made = statement.issued_at, renew, (*self._plain, *lines), member, *prints
            self._made = made
        return made

    def _statement(self, now: Instant) -> Statement:
        issued = now - now % _SECOND
        root, content = self._state
        return Statement(
            issuer=self._signing.issuer,
            audience=self._signing.audience,
            root=root,
            content=content,
            epoch=self._epoch,
            issued_at=issued,
            expires_at=issued + self._signing.lifetime_us,
        )
