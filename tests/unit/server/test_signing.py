"""One signature per state, an epoch that never falls, and answers that are signed whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lapse.contract import Registry, Table, versions_root
from lapse.errors import InvalidValue, StoreCorrupt, StoreError
from lapse.server import Contract, Signing
from lapse.signing import HmacKeys
from lapse.signing.ed25519 import Ed25519Signer
from lapse.testing import ManualClock
from lapse.wire import Signed, SignedAnswer, read_http_stamp, read_object_stamp, read_signed_answer

SECOND = 1_000_000
BEGIN = 1_764_500_000 * SECOND
ISSUER = "https://api.example"


@dataclass(slots=True)
class Counting:
    """A signer that counts."""

    inner: Ed25519Signer = field(default_factory=lambda: Ed25519Signer("2026", b"\1" * 32))
    signed: list[bytes] = field(default_factory=list[bytes])

    @property
    def key(self) -> str:
        return self.inner.key

    @property
    def algorithm(self) -> str:
        return self.inner.algorithm

    def sign(self, message: bytes) -> bytes:
        self.signed.append(message)
        return self.inner.sign(message)


def registry(code: str = "A", version: str = "1.0.0") -> Registry:
    return Registry.of([Table("codes", {"growth": code}, version)])


def said(contract: Contract) -> Signed:
    read = read_http_stamp(contract.lines)
    assert isinstance(read, Signed)
    return read


@pytest.mark.requirement("C-TRU-01")
def test_one_signature_serves_every_response_until_something_moves() -> None:
    clock, signer = ManualClock(BEGIN + 5), Counting()
    contract = Contract(registry(), signing=Signing(signer, issuer=ISSUER, clock=clock))
    assert signer.signed == []
    lines = contract.lines
    assert len(signer.signed) == 2  # the lines, and the object for carriers without lines
    for _ in range(100):
        assert contract.lines is lines
        assert contract.headers() is lines
        assert contract.stamp is contract.stamp
        clock.advance(seconds=1)
    assert len(signer.signed) == 2
    first = said(contract).statement
    assert (first.issuer, first.audience, first.issued_at) == (ISSUER, "", BEGIN)
    assert first.expires_at == BEGIN + 300 * SECOND
    root = versions_root(contract.registry.table_versions, contract.registry.rules_version)
    assert first.root == root
    contract.reload("codes", {"growth": "B"})
    later = said(contract).statement
    assert len(signer.signed) == 4
    assert later.epoch > first.epoch
    assert later.state != first.state


@pytest.mark.requirement("C-TRU-01")
def test_it_is_signed_again_when_half_its_lifetime_is_over_and_the_epoch_stays() -> None:
    clock, signer = ManualClock(BEGIN), Counting()
    signing = Signing(signer, issuer=ISSUER, clock=clock, lifetime_s=10)
    contract = Contract(registry(), signing=signing)
    first = said(contract).statement
    clock.advance(microseconds=5 * SECOND - 1)
    assert said(contract).statement == first
    clock.advance(microseconds=1)
    again = said(contract).statement
    assert (again.epoch, again.state) == (first.epoch, first.state)
    assert again.issued_at == BEGIN + 5 * SECOND
    clock.jump(BEGIN - 60 * SECOND)  # clients may live by the right time
    assert said(contract).statement.issued_at == BEGIN - 60 * SECOND
    assert len(signer.signed) == 6


@pytest.mark.requirement("C-TRU-17")
def test_the_epoch_outlives_the_process_and_never_falls(tmp_path: Path) -> None:
    clock, kept = ManualClock(BEGIN), tmp_path / "epoch"

    def started(rows: Registry) -> Contract:
        signing = Signing(Counting(), issuer=ISSUER, clock=clock, epoch_file=kept)
        return Contract(rows, signing=signing)

    first = said(started(registry())).statement.epoch
    assert first == BEGIN // 1_000
    clock.jump(BEGIN - 3600 * SECOND)
    assert said(started(registry())).statement.epoch == first  # the same state
    assert said(started(registry("B"))).statement.epoch == first + 1
    assert said(started(registry("A"))).statement.epoch == first + 2
    kept.write_text("{}")
    with pytest.raises(StoreCorrupt, match="epoch"):
        started(registry())
    kept.unlink()
    kept.mkdir()
    with pytest.raises(StoreError, match="epoch"):
        started(registry())


@pytest.mark.requirement("C-TRU-17")
def test_a_reload_whose_epoch_cannot_be_kept_does_not_happen(tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    signing = Signing(
        Counting(), issuer=ISSUER, clock=ManualClock(BEGIN), epoch_file=folder / "epoch"
    )
    contract = Contract(registry(), signing=signing)
    before = contract.published
    (folder / "epoch").unlink()
    folder.rmdir()
    with pytest.raises(StoreError, match="epoch"):
        contract.reload("codes", {"growth": "B"})
    assert contract.published is before


@pytest.mark.requirement("C-TRU-22")
def test_other_rows_under_one_version_have_another_content() -> None:
    def content(rows: Registry) -> tuple[str, str]:
        signing = Signing(Counting(), issuer=ISSUER, clock=ManualClock(BEGIN))
        statement = said(Contract(rows, signing=signing)).statement
        return statement.root, statement.content

    assert content(registry("A")) == content(registry("A"))
    assert content(registry("A"))[0] == content(registry("B"))[0]
    assert content(registry("A"))[1] != content(registry("B"))[1]


@pytest.mark.requirement("C-TRU-03", "C-TRU-14")
def test_the_object_says_what_the_lines_say_and_both_name_the_keys() -> None:
    signer = Ed25519Signer("2026", b"\1" * 32)
    signing = Signing(
        signer,
        issuer=ISSUER,
        clock=ManualClock(BEGIN),
        audience="tenant-a",
        following=("2027", b"n" * 32),
    )
    contract = Contract(registry(), signing=signing)
    lines, value = said(contract), read_object_stamp(contract.stamp)
    assert isinstance(value, Signed)
    assert lines.statement == value.statement
    assert lines.statement.audience == "tenant-a"
    assert lines.offered == value.offered == {"2026": signer.public, "2027": b"n" * 32}


@pytest.mark.requirement("C-TRU-23")
def test_a_shared_secret_is_not_offered_and_a_key_need_not_be() -> None:
    clock = ManualClock(BEGIN)
    shared = HmacKeys({"k": b"s" * 32}, sign_with="k")
    for signing in (
        Signing(shared, issuer=ISSUER, clock=clock),
        Signing(Ed25519Signer("k", b"\1" * 32), issuer=ISSUER, clock=clock, offers_key=False),
    ):
        contract = Contract(registry(), signing=signing)
        assert said(contract).offered == {}
        assert b"ssss" not in b"".join(value for _, value in contract.lines)


@pytest.mark.requirement("C-TRU-16")
def test_an_answer_is_signed_once_for_each_question_and_state() -> None:
    signer = Counting()
    contract = Contract(
        registry(), signing=Signing(signer, issuer=ISSUER, clock=ManualClock(BEGIN))
    )
    contract.reload("codes", {"growth": "B"})
    answer = contract.changes_members("codes", "1.0.0")
    assert answer["rows"].keys() == {"growth"}
    signed = read_signed_answer(answer)
    assert isinstance(signed, SignedAnswer)
    assert (signed.issuer, signed.epoch) == (ISSUER, said(contract).statement.epoch)
    count = len(signer.signed)
    assert contract.changes_members("codes", "1.0.0") == answer
    assert len(signer.signed) == count
    for number in range(1_100):  # questions nobody meant do not fill the memory
        contract.changes_members("codes", f"never {number}")
    assert len(signer.signed) == count + 1_100
    contract.changes_members("codes", "1.0.0")
    assert len(signer.signed) == count + 1_101


def test_without_a_map_nothing_is_signed() -> None:
    signer = Counting()
    signing = Signing(signer, issuer=ISSUER, clock=ManualClock(BEGIN))
    contract = Contract(registry(), level=0, signing=signing)
    assert (contract.lines, contract.stamp) == ((), None)
    assert contract.changes_members("codes", "1.0.0").keys() >= {"table", "version"}
    assert signer.signed == []


def test_arguments_that_cannot_be_are_refused() -> None:
    clock = ManualClock(BEGIN)
    with pytest.raises(InvalidValue, match="lifetime_s"):
        Signing(Counting(), issuer=ISSUER, clock=clock, lifetime_s=1)
    with pytest.raises(InvalidValue, match="issuer"):
        Signing(Counting(), issuer="", clock=clock)
    with pytest.raises(InvalidValue, match="audience"):
        Signing(Counting(), issuer=ISSUER, clock=clock, audience="a\n")
