"""From a URL to a memory: where the parts are put together for users of the library."""

from __future__ import annotations

from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from lapse.contract import A2DC, Demand
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lapse.admission import Policy
    from lapse.contract import Bounds, EvictionPolicy, FieldRules, Terms
    from lapse.ledger import Anchor, Clock, Ids, Signer, Store, Verifier
    from lapse.runtime import Judging, Memory, Observer, Trust, Workspace
    from lapse.stores import Sidecar

__all__ = ["open", "open_store", "sidecar", "trust", "workspace"]

Opened = TypeVar("Opened")

_REMEDY = "pass a path, 'sqlite:///PATH', 'postgresql://…' or 'memory:'"


def open(  # noqa: A001 - lapse.open(...) is how it is called
    url: str | Path,
    *,
    policy: EvictionPolicy = A2DC,
    anchor: Anchor | None = None,
    observers: Iterable[Observer] = (),
    clock: Clock | None = None,
    ids: Ids | None = None,
    trust: Trust | None = None,
) -> Memory:
    """Open a durable memory, creating it where there is none.

    Args:
        url: a file's path or ``sqlite:///PATH`` (several processes may share it), ``postgresql://…``
            (several machines may), or ``memory:`` (this process only, for trying things out).
        policy: which fixes go when a table moved.
        anchor: what keeps the head of the chain outside the store; with it, a ledger that was
            altered, cut or put back is refused.
        observers: who is told about every decision.
        clock: tells the time; the system's when left out.
        ids: makes up ids; random ones when left out.
        trust: what is demanded of services before they are believed; `lapse.trust` makes one.

    Raises:
        InvalidValue: the URL names no kind of store.
        MissingExtra: the store's driver is not installed.
        StoreError: the store cannot be opened, or is not a lapse ledger.
        LedgerNotTrusted: the ledger is not the one that was anchored.
    """
    from lapse.runtime import Memory  # noqa: PLC0415 - "import lapse" stays light

    def made(store: Store, time: Clock, names: Ids) -> Memory:
        return Memory(store, clock=time, ids=names, policy=policy, observers=observers, trust=trust)

    return _over(url, anchor, clock, ids, made)


def sidecar(
    url: str | Path,
    store: str,
    *,
    observer: str = "writer",
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Sidecar:
    """Open the ledger that stands beside somebody else's store of memories.

    Args:
        url: as for `open`; several sidecars, a memory and a workspace may share one ledger.
        store: the store's name; it stays the same as long as the store does.
        observer: who vouches for what is written through it.
        clock: tells the time; the system's when left out.
        ids: makes up ids; random ones when left out.

    Raises:
        InvalidValue: the URL names no kind of ledger, or a name is empty.
        MissingExtra: the ledger's driver is not installed.
        StoreError: the ledger cannot be opened, or is none of lapse.
    """
    from lapse.stores import Sidecar  # noqa: PLC0415 - "import lapse" stays light

    def made(opened: Store, time: Clock, names: Ids) -> Sidecar:
        return Sidecar(opened, store, clock=time, ids=names, observer=observer)

    return _over(url, None, clock, ids, made)


def trust(
    path: str | Path | None = None,
    *,
    terms: Mapping[str, Terms] | None = None,
    otherwise: Demand = Demand.ONCE_SEEN,
    verifier: Verifier | None = None,
    bounds: Bounds | None = None,
    fields: FieldRules | None = None,
) -> Trust:
    """What a memory demands of the services it hears, for `open`.

    Args:
        path: the file that keeps, over restarts, which keys and which states of whom were seen;
            left out, that is forgotten with the process, and an old state could be shown to it.
        terms: what is demanded of an issuer, by its origin: its pinned keys, an audience.
        otherwise: what is demanded of all others: their first key is trusted and kept to.
        verifier: verifies signatures made with a secret that both sides share.
        bounds: how fast an issuer may move what is remembered; sensible ones when left out.
        fields: what fixes may set; nothing sensitive when left out.

    Raises:
        MissingExtra: the extra `sign` is not installed.
    """
    from lapse.contract import Bounds, FieldRules  # noqa: PLC0415 - "import lapse" stays light
    from lapse.runtime import KnownInMemory, Signatures, Trust  # noqa: PLC0415
    from lapse.signing.ed25519 import verifies  # noqa: PLC0415
    from lapse.signing.trust_file import TrustFile  # noqa: PLC0415

    signatures = Signatures(
        keeper=KnownInMemory() if path is None else TrustFile(path),
        check=verifies,
        verifier=verifier,
        terms=terms,
        otherwise=otherwise,
    )
    return Trust(
        signatures=signatures,
        bounds=Bounds() if bounds is None else bounds,
        fields=FieldRules() if fields is None else fields,
    )


def workspace(  # noqa: PLR0913 - as many choices as a workspace has, each with a default
    url: str | Path,
    *,
    key: str | Path | bytes | Signer | None = None,
    create_key: bool = False,
    verifier: Verifier | None = None,
    observers: Iterable[str] = (),
    policy: Policy | None = None,
    judging: Judging | None = None,
    tenant: str | None = None,
    anchor: Anchor | None = None,
    listeners: Iterable[Observer] = (),
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Workspace:
    """Open a shared workspace, creating its ledger where there is none.

    Args:
        url: as for `open`; a memory of fixes may share the ledger.
        key: what signs views: the file of an HMAC key, its 32 or more random bytes, or a signer;
            may be left out for ``memory:``.
        create_key: make the key file, for the owner's eyes, where there is none.
        verifier: the keys that views may be signed with; left out, the key itself.
        observers: whose receipts count; of nobody, so that nothing is ever shown, when left out.
        policy: how returns are decided; left out, the strict one.
        judging: who answers what the history does not say; left out: nobody, which shows little.
        tenant: whose workspace.
        anchor: as for `open`.
        listeners: who is told about every decision.
        clock: tells the time; the system's when left out.
        ids: makes up ids; random ones when left out.

    Raises:
        InvalidValue: URL or key cannot be used, or observers are named beside a policy.
        MissingExtra: the store's driver is not installed.
        StoreError: the store or the key file cannot be opened.
        LedgerNotTrusted: the ledger is not the one that was anchored.
    """
    from lapse.admission import Policy  # noqa: PLC0415 - "import lapse" stays light
    from lapse.runtime import Workspace  # noqa: PLC0415

    accepted = frozenset(observers)
    if policy and accepted:
        raise InvalidValue("observers", sorted(accepted), "name them in the policy that is passed")
    signer, known = _keys(url, key, verifier, create=create_key)

    def made(store: Store, time: Clock, names: Ids) -> Workspace:
        return Workspace(
            store,
            clock=time,
            ids=names,
            policy=Policy(observers=accepted) if policy is None else policy,
            signer=signer,
            verifier=known,
            judging=judging,
            tenant=tenant,
            listeners=listeners,
        )

    return _over(url, anchor, clock, ids, made)


def _over(
    url: str | Path,
    anchor: Anchor | None,
    clock: Clock | None,
    ids: Ids | None,
    made: Callable[[Store, Clock, Ids], Opened],
) -> Opened:
    """What is made over a store, which is closed again when it cannot be made."""
    from lapse.storage import RandomIds, SystemClock  # noqa: PLC0415 - "import lapse" stays light

    time = SystemClock() if clock is None else clock
    names = RandomIds() if ids is None else ids
    store = opened = open_store(url, ids=names)
    try:
        if anchor is not None:
            from lapse.storage.anchor import TrustedStore  # noqa: PLC0415 - as above

            store = TrustedStore(opened, anchor, clock=time)
        return made(store, time, names)
    except BaseException:
        opened.close()  # a ledger that is not trusted is not left open either
        raise


_KEY = "workspace"
"""The id of a key that comes without one."""


def _keys(
    url: str | Path,
    key: str | Path | bytes | Signer | None,
    verifier: Verifier | None,
    *,
    create: bool,
) -> tuple[Signer, Verifier]:
    """What signs views and what verifies them."""
    from lapse.signing import HmacKeys, read_hmac_keys, write_hmac_key  # noqa: PLC0415

    if key is None and url == "memory:":
        key = token_bytes(32)
    match key:
        case None:
            remedy = "pass a key file (create_key=True makes it), 32 random bytes, or a signer"
            raise InvalidValue("key", None, remedy)
        case str() | Path():
            place = Path(key)
            keys = write_hmac_key(place, _KEY) if create and not place.exists() else None
            signer = read_hmac_keys(place) if keys is None else keys
        case bytes():
            signer = HmacKeys({_KEY: key}, sign_with=_KEY)
        case _:
            signer = key
    if verifier is not None:
        return signer, verifier
    if not isinstance(signer, HmacKeys):
        raise InvalidValue("verifier", None, "pass what verifies the signer's signatures")
    return signer, signer


def open_store(url: str | Path, *, ids: Ids) -> Store:
    """Open the store that a URL names; `open` says which there are and what it raises."""
    if isinstance(url, Path):
        return _sqlite(url, ids)
    if url == "memory:":
        from lapse.storage import InMemoryStore  # noqa: PLC0415

        return InMemoryStore(ids=ids)
    if "://" not in url:
        if not url:
            raise InvalidValue("url", url, _REMEDY)
        return _sqlite(Path(url), ids)
    try:
        parts = urlsplit(url)
    except ValueError as failure:
        raise InvalidValue("url", url, f"{_REMEDY} ({failure})") from None
    if parts.scheme in ("postgresql", "postgres"):
        from lapse.storage.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(url, ids=ids)
    if parts.scheme != "sqlite":
        raise InvalidValue("url", url, _REMEDY)
    if parts.netloc or not parts.path.strip("/"):
        remedy = "write three slashes before a relative path, four before an absolute one"
        raise InvalidValue("url", url, remedy)
    if parts.query or parts.fragment:
        remedy = "write ? as %3F and # as %23 in a path; there are no options"
        raise InvalidValue("url", url, remedy)
    return _sqlite(Path(unquote(parts.path[1:])), ids)


def _sqlite(path: Path, ids: Ids) -> Store:
    from lapse.storage.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(path, ids=ids)
