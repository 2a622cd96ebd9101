"""Whose word is believed: keys, statements, and what the responses around them say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lapse.contract import (
    Demand,
    Distrust,
    Envelope,
    Moved,
    Statement,
    Suggestion,
    Terms,
    versions_root,
)
from lapse.ledger import Source
from lapse.runtime import KnownInMemory, Signatures
from lapse.signing import HmacKeys
from lapse.signing.ed25519 import Ed25519Signer, verifies
from lapse.signing.trust_file import TrustFile
from lapse.wire import Reason, Signed, StampSigner, http_stamp, read_http_stamp, signed_answer

SECOND = 1_000_000
NOW = 1_764_500_000 * SECOND
ISSUER = "https://api.example"
OURS = Ed25519Signer("2026", b"\1" * 32)
NEXT = Ed25519Signer("2027", b"\2" * 32)
THIEF = Ed25519Signer("2026", b"\3" * 32)
SHARED = HmacKeys({"shared": b"s" * 32}, sign_with="shared")
ONE, TWO = {"codes": "1.0.0"}, {"codes": "1.0.1"}


def statement(versions: dict[str, str], epoch: int = 1, at: int = NOW) -> Statement:
    return Statement(
        issuer=ISSUER,
        audience="",
        root=versions_root(versions, None),
        content="",
        epoch=epoch,
        issued_at=at,
        expires_at=at + 300 * SECOND,
    )


def stamp(
    said: Statement, signer: StampSigner = OURS, *keys: Ed25519Signer, offers: bool = True
) -> Signed:
    offered = {key.key: key.public for key in keys}
    if offers and isinstance(signer, Ed25519Signer):
        offered[signer.key] = signer.public
    read = read_http_stamp(http_stamp(said, signer, offered=offered))
    assert isinstance(read, Signed)
    return read


def envelope(versions: dict[str, str] | None) -> Envelope:
    return Envelope(table_versions=versions)


def first_use(**more: Terms) -> Signatures:
    return Signatures(keeper=KnownInMemory(), check=verifies, verifier=SHARED, terms=more)


def pinned(**keys: bytes) -> Signatures:
    terms = Terms(issuer=ISSUER, keys=keys)
    return Signatures(keeper=KnownInMemory(), check=verifies, terms={ISSUER: terms})


@pytest.mark.requirement("C-TRU-13")
def test_an_issuer_that_never_signed_is_taken_at_its_word_and_one_that_did_is_not() -> None:
    trust = first_use()
    assert trust.judged(ISSUER, envelope(ONE), None, now=NOW) is None
    assert trust.withheld(ISSUER, now=NOW) is None
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    assert trust.judged(ISSUER, envelope(ONE), None, now=NOW) is Distrust.UNSIGNED
    fix = Envelope(suggestions=(Suggestion(type="SET", parameters={}),))
    assert trust.judged(ISSUER, fix, None, now=NOW) is Distrust.UNSIGNED
    assert trust.judged(ISSUER, Envelope(rules_version="x"), None, now=NOW) is Distrust.UNSIGNED
    # A response that says nothing needs nobody's word.
    assert trust.judged(ISSUER, Envelope(success=True), None, now=NOW) is None
    assert trust.judged("https://other.example", envelope(ONE), None, now=NOW) is None


@pytest.mark.requirement("C-TRU-13")
def test_a_pinned_issuer_is_never_taken_at_its_word() -> None:
    trust = pinned(**{"2026": OURS.public})
    assert trust.judged(ISSUER, envelope(ONE), None, now=NOW) is Distrust.UNSIGNED
    assert trust.withheld(ISSUER, now=NOW) is Distrust.UNSIGNED
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    assert trust.withheld(ISSUER, now=NOW) is None


@pytest.mark.requirement("C-TRU-14")
def test_pinned_keys_are_the_only_ones() -> None:
    trust = pinned(**{"2026": OURS.public})
    for signer, reason in ((THIEF, Distrust.BAD_SIGNATURE), (NEXT, Distrust.UNKNOWN_KEY)):
        said = stamp(statement(ONE), signer)
        assert trust.judged(ISSUER, envelope(ONE), said, now=NOW) is reason
    announced = stamp(statement(ONE), OURS, NEXT)
    assert trust.judged(ISSUER, envelope(ONE), announced, now=NOW) is None
    said = stamp(statement(TWO, 2), NEXT)
    assert trust.judged(ISSUER, envelope(TWO), said, now=NOW) is Distrust.UNKNOWN_KEY


@pytest.mark.requirement("C-TRU-14")
def test_the_first_key_is_kept_to_and_announces_its_successor() -> None:
    trust = first_use()
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    changed = stamp(statement(TWO, 2), NEXT)
    assert trust.judged(ISSUER, envelope(TWO), changed, now=NOW) is Distrust.KEY_CHANGED
    stolen = stamp(statement(TWO, 2), THIEF)  # under the known key's name
    assert trust.judged(ISSUER, envelope(TWO), stolen, now=NOW) is Distrust.BAD_SIGNATURE
    announcing = stamp(statement(ONE, at=NOW + SECOND), OURS, NEXT, offers=False)
    assert trust.judged(ISSUER, envelope(ONE), announcing, now=NOW) is None
    assert trust.judged(ISSUER, envelope(TWO), changed, now=NOW) is None
    known = trust.known(ISSUER)
    assert known is not None
    assert known.keys == {"2026": OURS.public, "2027": NEXT.public}


@pytest.mark.requirement("C-TRU-14")
def test_a_key_that_is_not_shown_cannot_be_trusted_on_first_use() -> None:
    trust = first_use()
    hidden = stamp(statement(ONE), offers=False)
    assert trust.judged(ISSUER, envelope(ONE), hidden, now=NOW) is Distrust.UNKNOWN_KEY
    forged = replace(stamp(statement(ONE)), signature=b"\0" * 64)
    assert trust.judged(ISSUER, envelope(ONE), forged, now=NOW) is Distrust.BAD_SIGNATURE
    assert trust.known(ISSUER) is None
    trust.forget(ISSUER)


@pytest.mark.requirement("C-TRU-14")
def test_a_known_id_keeps_its_key_whatever_is_announced_under_it() -> None:
    trust = first_use()
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    again = statement(ONE, at=NOW + SECOND)
    assert trust.judged(ISSUER, envelope(ONE), stamp(again, OURS, NEXT), now=NOW) is None
    other = Ed25519Signer("2027", b"\4" * 32)
    later = statement(ONE, at=NOW + 2 * SECOND)
    assert trust.judged(ISSUER, envelope(ONE), stamp(later, OURS, other), now=NOW) is None
    known = trust.known(ISSUER)
    assert known is not None
    assert known.keys["2027"] == NEXT.public


@pytest.mark.requirement("C-TRU-14")
def test_the_key_outlives_the_client_and_can_be_forgotten(tmp_path: Path) -> None:
    def started() -> Signatures:
        return Signatures(keeper=TrustFile(tmp_path / "trust"), check=verifies)

    assert started().judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    said = stamp(statement(TWO, 2), NEXT)
    again = started()
    assert again.judged(ISSUER, envelope(TWO), said, now=NOW) is Distrust.KEY_CHANGED
    again.forget(ISSUER)
    assert again.judged(ISSUER, envelope(TWO), said, now=NOW) is None


@pytest.mark.requirement("C-TRU-02")
def test_one_trust_domain_can_share_a_secret() -> None:
    trust = first_use()
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE), SHARED), now=NOW) is None
    forged = replace(stamp(statement(TWO, 2), SHARED), signature=b"\0" * 32)
    assert trust.judged(ISSUER, envelope(TWO), forged, now=NOW) is Distrust.BAD_SIGNATURE
    nobody = Signatures(keeper=KnownInMemory())
    for signer in (SHARED, OURS):
        said = stamp(statement(ONE), signer)
        assert nobody.judged(ISSUER, envelope(ONE), said, now=NOW) is Distrust.UNKNOWN_KEY


@pytest.mark.requirement("C-TRU-11")
def test_versions_that_were_not_signed_are_not_believed() -> None:
    trust = first_use()
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    # The same epoch, other versions in the body: nothing new is known to have moved.
    same = stamp(statement(ONE))
    assert trust.judged(ISSUER, envelope(TWO), same, now=NOW) is Distrust.ROOT_MISMATCH
    assert trust.withheld(ISSUER, now=NOW) is None
    # A newer epoch under old versions: by trusted word something moved. Withhold until it is said.
    newer = stamp(statement(TWO, 2))
    assert trust.judged(ISSUER, envelope(ONE), newer, now=NOW) is Distrust.OUTRUN
    assert trust.withheld(ISSUER, now=NOW) is Distrust.MAP_MISSING
    assert trust.judged(ISSUER, envelope(TWO), newer, now=NOW) is None
    assert trust.withheld(ISSUER, now=NOW) is None


@pytest.mark.requirement("C-TRU-15")
def test_a_stamp_without_versions_confirms_what_is_known_and_nothing_else() -> None:
    trust = first_use()
    first = stamp(statement(ONE))
    assert trust.judged(ISSUER, envelope(None), first, now=NOW) is Distrust.MAP_MISSING
    assert trust.withheld(ISSUER, now=NOW) is None
    assert trust.judged(ISSUER, envelope(ONE), first, now=NOW) is None
    again = stamp(statement(ONE, at=NOW + 200 * SECOND))
    later = NOW + 400 * SECOND
    assert trust.judged(ISSUER, envelope(None), again, now=later) is None
    assert trust.withheld(ISSUER, now=later) is None
    fix = Envelope(suggestions=(Suggestion(type="SET", parameters={}),))
    assert trust.judged(ISSUER, fix, again, now=later) is Distrust.MAP_MISSING
    moved = stamp(statement(TWO, 2, at=later))
    assert trust.judged(ISSUER, envelope(None), moved, now=later) is Distrust.MAP_MISSING
    assert trust.withheld(ISSUER, now=later) is Distrust.MAP_MISSING


@pytest.mark.requirement("C-TRU-12")
def test_what_is_frozen_is_not_healed_by_time_nor_by_setting_the_clock_back() -> None:
    trust = first_use()
    said = stamp(statement(ONE))
    assert trust.judged(ISSUER, envelope(ONE), said, now=NOW) is None
    assert trust.withheld(ISSUER, now=NOW + 299 * SECOND) is None
    late = NOW + 300 * SECOND
    assert trust.judged(ISSUER, envelope(ONE), said, now=late) is Distrust.EXPIRED
    assert trust.withheld(ISSUER, now=late) is Distrust.FROZEN
    assert trust.withheld(ISSUER, now=NOW) is Distrust.FROZEN
    fresh = stamp(statement(ONE, at=late))
    assert trust.judged(ISSUER, envelope(ONE), fresh, now=late) is None
    assert trust.withheld(ISSUER, now=late) is None


@pytest.mark.requirement("C-TRU-12")
def test_a_statement_that_another_process_took_in_counts_here_too() -> None:
    keeper = KnownInMemory()
    here, there = (Signatures(keeper=keeper, check=verifies) for _ in range(2))
    assert here.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    late = NOW + 300 * SECOND
    assert here.withheld(ISSUER, now=late) is Distrust.FROZEN
    fresh = stamp(statement(ONE, at=late))
    assert there.judged(ISSUER, envelope(ONE), fresh, now=late) is None
    assert here.withheld(ISSUER, now=late) is None


@pytest.mark.requirement("C-TRU-09")
def test_a_contradiction_is_kept_reported_and_withholds_until_it_is_pardoned() -> None:
    trust = first_use()
    truth, lie = stamp(statement(ONE)), stamp(statement(TWO))
    assert trust.judged(ISSUER, envelope(ONE), truth, now=NOW) is None
    assert trust.judged(ISSUER, envelope(TWO), lie, now=NOW) is Distrust.EQUIVOCATED
    assert trust.withheld(ISSUER, now=NOW) is Distrust.EQUIVOCATED
    later = stamp(statement(TWO, 2))
    assert trust.judged(ISSUER, envelope(TWO), later, now=NOW) is Distrust.EQUIVOCATED
    known = trust.known(ISSUER)
    assert known is not None
    assert known.evidence == (f"{truth.proof} {lie.proof}",)
    trust.pardon(ISSUER)
    trust.pardon("https://never.example")
    assert trust.judged(ISSUER, envelope(TWO), later, now=NOW) is None
    assert trust.withheld(ISSUER, now=NOW) is None


@pytest.mark.requirement("C-TRU-09")
def test_another_clients_statement_can_prove_a_contradiction_and_teaches_nothing() -> None:
    trust = first_use()
    assert trust.witness(ISSUER, stamp(statement(ONE)), now=NOW) is None
    assert trust.judged(ISSUER, envelope(ONE), stamp(statement(ONE)), now=NOW) is None
    assert trust.witness(ISSUER, stamp(statement(ONE)), now=NOW) is None
    assert trust.witness(ISSUER, stamp(statement(TWO, 2)), now=NOW) is None
    thief = trust.witness(ISSUER, stamp(statement(TWO), THIEF), now=NOW)
    assert thief is Distrust.BAD_SIGNATURE
    known = trust.known(ISSUER)
    assert known is not None
    assert (known.statement, known.quarantined) == (statement(ONE), False)
    lie = stamp(statement(TWO))
    assert trust.witness(ISSUER, lie, now=NOW) is Distrust.EQUIVOCATED
    assert trust.withheld(ISSUER, now=NOW) is Distrust.EQUIVOCATED


def test_a_stamp_that_cannot_be_read_is_not_one() -> None:
    trust = first_use()
    found = trust.judged(ISSUER, envelope(ONE), Reason.MALFORMED_FIELD, now=NOW)
    assert found is Distrust.UNREADABLE


def test_the_same_words_again_are_recognised_without_looking_anything_up() -> None:
    trust = first_use()
    said = stamp(statement(ONE))
    assert not trust.is_last(ISSUER, envelope(ONE), said, now=NOW)
    assert trust.judged(ISSUER, envelope(ONE), said, now=NOW) is None
    assert trust.is_last(ISSUER, envelope(ONE), said, now=NOW)
    assert trust.is_last(ISSUER, envelope(ONE), replace(said), now=NOW)
    assert trust.judged(ISSUER, envelope(ONE), said, now=NOW) is None
    for other, words, now in (
        (envelope(TWO), said, NOW),
        (envelope(ONE), None, NOW),
        (envelope(ONE), said, NOW + 300 * SECOND),
        (envelope(ONE), said, NOW - 61 * SECOND),
        (envelope(ONE), stamp(statement(ONE, at=NOW + SECOND)), NOW),
    ):
        assert not trust.is_last(ISSUER, other, words, now=now)


QUESTION = Moved(Source.table(ISSUER, "codes"), "1.0.0", "1.0.1")
ANSWER: dict[str, Any] = {
    "table": "codes",
    "since": "1.0.0",
    "version": "1.0.1",
    "complete": True,
    "rows": {},
}


@pytest.mark.requirement("C-TRU-16")
def test_an_answer_counts_when_a_trusted_key_gives_it_about_the_present() -> None:
    trust = first_use()
    assert trust.vouches(ISSUER, QUESTION, ANSWER, now=NOW)  # nobody demands anything
    said = statement(TWO, 5)
    assert trust.judged(ISSUER, envelope(TWO), stamp(said), now=NOW) is None
    old = {**ANSWER, "version": "0.9"}
    for answer, counts in (
        (signed_answer(ANSWER, said, OURS), True),
        (ANSWER, False),
        ({}, False),
        ({**ANSWER, "signed": "x"}, False),
        (signed_answer(ANSWER, said, THIEF), False),
        (signed_answer(ANSWER, said, NEXT), False),
        (signed_answer(ANSWER, said, SHARED), True),
        (signed_answer(ANSWER, replace(said, issuer="https://evil.example"), OURS), False),
        (signed_answer(ANSWER, replace(said, audience="b"), OURS), False),
        # An answer of an older epoch counts if it leads to the version that was signed.
        (signed_answer(ANSWER, replace(said, epoch=4), OURS), True),
        (signed_answer(old, replace(said, epoch=4), OURS), False),
        (signed_answer(old, replace(said, epoch=6), OURS), True),
    ):
        assert trust.vouches(ISSUER, QUESTION, answer, now=NOW) is counts
    signed = signed_answer(ANSWER, said, OURS)
    assert not trust.vouches(ISSUER, QUESTION, {**signed, "rows": {"x": None}}, now=NOW)
    assert not trust.vouches(ISSUER, QUESTION, signed, now=NOW + 300 * SECOND)


@pytest.mark.requirement("C-TRU-16")
def test_a_pinned_issuers_answers_are_demanded_to_be_signed_from_the_first_on() -> None:
    trust = pinned(**{"2026": OURS.public})
    assert not trust.vouches(ISSUER, QUESTION, ANSWER, now=NOW)
    assert trust.demands(ISSUER)
    always = Signatures(keeper=KnownInMemory(), otherwise=Demand.ALWAYS)
    assert always.demands("anybody")
