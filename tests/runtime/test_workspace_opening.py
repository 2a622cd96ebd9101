"""From a URL and a key to a workspace."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lapse
from lapse.admission import Policy, Sealed
from lapse.errors import InvalidValue, LedgerNotTrusted, StoreClosed, StoreUnavailable
from lapse.ledger import Kind, Scope
from lapse.runtime import Session, Workspace
from lapse.signing import HmacKeys, write_hmac_key
from lapse.signing.ed25519 import Ed25519Signer, Ed25519Verifier, new_secret
from lapse.storage import FileAnchor, InMemoryStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import SequenceIds
from lapse.testing.workspaces import FOR_BOOKING, HER, Town

KEY = b"a key of at least 32 random bytes"


def lived(work: Workspace) -> Sealed:
    """A statement, a departure and a return."""
    desk: dict[str, Any] = {"by": "A2", "observer": "desk", "scope": Scope(task="trip")}
    opens: dict[str, Any] = {"kind": Kind.OBLIGATION, "obligation": "o", "required": ["d"]}
    work.record("Do it", slot="o", **opens, **desk)
    work.record("Begun", slot="f", kind=Kind.FRONTIER, obligation="o", **desk)
    work.record("So it is", slot="d", supports=["d"], **desk)
    work.depart(HER)
    ended = work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(ended, Sealed)
    return ended


def test_a_workspace_in_memory_needs_no_key() -> None:
    with lapse.workspace("memory:", observers=["desk"]) as work:
        ended = lived(work)
        assert work.view("r1", FOR_BOOKING) == ended.view
    with pytest.raises(StoreClosed):
        work.status()


def test_a_key_file_is_made_when_asked_for_and_used_again(tmp_path: Path) -> None:
    url, key = tmp_path / "work.sqlite", tmp_path / "view.key"
    with lapse.workspace(url, key=key, create_key=True, observers=["desk"]) as work:
        ended = lived(work)
    assert key.stat().st_mode & 0o777 == 0o600
    with lapse.workspace(url, key=str(key), create_key=True, observers=["desk"]) as work:
        assert work.view("r1", FOR_BOOKING) == ended.view


def test_a_key_that_is_missing_is_asked_for_before_anything_is_made(tmp_path: Path) -> None:
    url = tmp_path / "work.sqlite"
    with pytest.raises(InvalidValue, match="create_key=True"):
        lapse.workspace(url)
    with pytest.raises(StoreUnavailable):
        lapse.workspace(url, key=tmp_path / "view.key")
    with pytest.raises(InvalidValue, match="32 random bytes"):
        lapse.workspace(url, key=b"short")
    assert list(tmp_path.iterdir()) == []


def test_a_signer_comes_with_what_verifies_it() -> None:
    signer = Ed25519Signer("k", new_secret())
    with pytest.raises(InvalidValue, match=r"^verifier is None"):
        lapse.workspace("memory:", key=signer)
    known = Ed25519Verifier({"k": signer.public})
    with lapse.workspace("memory:", key=signer, verifier=known, observers=["desk"]) as work:
        ended = lived(work)
        assert work.signed_view("r1", FOR_BOOKING) == ended.signed
    keys = HmacKeys({"k": KEY}, sign_with="k")
    with lapse.workspace("memory:", key=keys, observers=["desk"]) as work:
        assert lived(work).signed.key == "k"
    with lapse.workspace("memory:", key=KEY, observers=["desk"]) as work:
        assert lived(work).signed.key == "workspace"


def test_observers_are_named_once() -> None:
    policy = Policy(observers=frozenset({"desk"}))
    with lapse.workspace("memory:", policy=policy) as work:
        assert work.policy is policy
    with pytest.raises(InvalidValue, match=r"^observers is \['desk'\]"):
        lapse.workspace("memory:", policy=policy, observers=["desk"])


def test_without_observers_nothing_is_ever_shown() -> None:
    with lapse.workspace("memory:") as work:
        assert work.policy.observers == frozenset()


def test_a_ledger_that_is_not_the_anchored_one_is_refused(tmp_path: Path) -> None:
    url, anchor = tmp_path / "work.sqlite", FileAnchor(tmp_path / "anchor")
    with lapse.workspace(url, key=KEY, anchor=anchor, observers=["desk"]) as work:
        lived(work)
    with lapse.workspace(url, key=KEY) as work:
        work.record("past the anchor", slot="x", by="A9")
    with pytest.raises(LedgerNotTrusted):
        lapse.workspace(url, key=KEY, anchor=FileAnchor(tmp_path / "anchor"))


def test_a_workspace_shares_a_hold_on_a_ledger() -> None:
    session = Session(InMemoryStore(ids=SequenceIds("ledger")))
    red, blue = (Town(session, name, tenant=name) for name in ("red", "blue"))
    red.says("a")
    blue.says("b")
    assert (red.work.status().epoch, blue.work.status().epoch) == (1, 1)


def test_writers_of_one_file_count_their_revisions_together(tmp_path: Path) -> None:
    path = tmp_path / "work.sqlite"
    towns = [Town(SqliteStore(path, ids=SequenceIds("l")), f"w{n}") for n in range(3)]

    def write(number: int) -> int:
        town = towns[number % 3]
        return town.says(f"i{number}", slot="one").epochs.since

    with ThreadPoolExecutor(6) as pool:
        epochs = list(pool.map(write, range(30)))
    assert sorted(epochs) == list(range(1, 31))
    assert {town.work.status().epoch for town in towns} == {30}


@pytest.mark.postgres
def test_a_workspace_lives_in_postgres(postgres_url: str) -> None:
    with lapse.workspace(postgres_url, key=KEY, observers=["desk"], tenant="t") as work:
        ended = lived(work)
    with lapse.workspace(postgres_url, key=KEY, observers=["desk"], tenant="t") as work:
        assert work.view("r1", FOR_BOOKING) == ended.view
        assert work.return_(FOR_BOOKING, cycle="r1") == ended
    with lapse.workspace(postgres_url, key=KEY, tenant="other") as work:
        assert work.status().epoch == 0


def test_a_key_file_may_be_made_beforehand(tmp_path: Path) -> None:
    write_hmac_key(tmp_path / "view.key", "2026")
    with lapse.workspace("memory:", key=tmp_path / "view.key", observers=["desk"]) as work:
        assert lived(work).signed.key == "2026"
