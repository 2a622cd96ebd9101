"""What a signed statement has to satisfy, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lapse.contract import (
    Demand,
    Distrust,
    Known,
    SignedState,
    Statement,
    Terms,
    accepted,
    objection,
    versions_root,
    withheld,
)
from lapse.errors import InvalidValue

SECOND = 1_000_000
NOW = 1_764_500_000 * SECOND
ROOT = versions_root({"codes": "1.0.0"}, "ec524f499ebe")
OTHER = versions_root({"codes": "1.0.1"}, "ec524f499ebe")
ROWS, OTHER_ROWS = "a" * 64, "b" * 64

SAID = Statement(
    issuer="https://api.example",
    audience="",
    root=ROOT,
    content=ROWS,
    epoch=7,
    issued_at=NOW,
    expires_at=NOW + 300 * SECOND,
)
TERMS = Terms(issuer="https://api.example")
KNOWN = accepted(None, SAID, proof="proof", now=NOW)


def test_the_first_statement_is_all_that_is_known() -> None:
    assert (
        Known(
            statement=SAID,
            fresh_until=SAID.expires_at,
            past=(SignedState(7, ROOT, ROWS, "proof"),),
        )
        == KNOWN
    )


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (SAID, None),
        (replace(SAID, issuer="https://evil.example"), Distrust.OTHER_ISSUER),
        (replace(SAID, audience="tenant-b"), Distrust.OTHER_AUDIENCE),
        (replace(SAID, issued_at=NOW + 61 * SECOND), Distrust.NOT_YET),
        (replace(SAID, issued_at=NOW + 60 * SECOND), None),
        (replace(SAID, expires_at=NOW + 86_401 * SECOND), Distrust.LIVES_TOO_LONG),
        (replace(SAID, expires_at=NOW + 86_400 * SECOND), None),
        (replace(SAID, expires_at=NOW), Distrust.LIVES_TOO_LONG),
        (replace(SAID, issued_at=NOW - 300 * SECOND, expires_at=NOW), Distrust.EXPIRED),
    ],
)
@pytest.mark.requirement("C-TRU-04", "C-TRU-05", "C-TRU-08")
def test_a_statement_is_the_issuers_for_this_audience_and_of_this_time(
    statement: Statement, reason: Distrust | None
) -> None:
    assert objection(None, statement, TERMS, now=NOW) is reason


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        # An older epoch: shown again if it was signed then, gone back if it is signed now.
        (replace(SAID, epoch=6, root=OTHER), Distrust.REPLAYED),
        (replace(SAID, epoch=6, root=OTHER, issued_at=NOW + SECOND), Distrust.ROLLED_BACK),
        (replace(SAID, epoch=6, content=OTHER_ROWS), Distrust.REPLAYED),
        # The same content under another epoch is another server of the service.
        (replace(SAID, epoch=6), None),
        (replace(SAID, epoch=8), None),
        (replace(SAID, epoch=8, root=OTHER), None),
        # One epoch, two contents; when it was signed does not matter.
        (replace(SAID, root=OTHER), Distrust.EQUIVOCATED),
        (replace(SAID, content=OTHER_ROWS), Distrust.EQUIVOCATED),
        (replace(SAID, root=OTHER, expires_at=NOW - 5), Distrust.EQUIVOCATED),
        (replace(SAID, issued_at=NOW + 150 * SECOND), Distrust.NOT_YET),
    ],
)
@pytest.mark.requirement("C-TRU-06", "C-TRU-07", "C-TRU-09")
def test_a_statement_follows_what_is_known(statement: Statement, reason: Distrust | None) -> None:
    assert objection(KNOWN, statement, TERMS, now=NOW) is reason


@pytest.mark.requirement("C-TRU-09")
def test_two_contents_of_an_older_epoch_are_a_contradiction_too() -> None:
    later = accepted(KNOWN, replace(SAID, epoch=9, root=OTHER), proof="later", now=NOW)
    lie = replace(SAID, content=OTHER_ROWS)
    assert objection(later, lie, TERMS, now=NOW) is Distrust.EQUIVOCATED
    caught = later.caught(lie, "lie")
    assert (caught.evidence, caught.quarantined) == (("proof lie",), True)
    assert caught.caught(lie, "lie") == caught
    assert withheld(caught, TERMS, now=NOW) is Distrust.EQUIVOCATED
    pardoned = caught.pardoned()
    assert (pardoned.evidence, pardoned.quarantined) == (("proof lie",), False)


@pytest.mark.requirement("C-TRU-09")
def test_evidence_is_bounded() -> None:
    known = KNOWN
    for number in range(10):
        known = known.caught(replace(SAID, content=OTHER_ROWS), str(number))
    assert known.evidence == tuple(f"proof {number}" for number in range(6, 10))
    assert Known().caught(SAID, "alone").evidence == (" alone",)


def test_an_issuer_known_by_its_key_alone_has_said_nothing_yet() -> None:
    known = Known().trusting({"2026": b"k" * 32})
    assert objection(known, SAID, TERMS, now=NOW) is None
    assert withheld(known, TERMS, now=NOW) is Distrust.UNSIGNED
    assert known.trusting({}) is known
    after = accepted(known, SAID, proof="proof", now=NOW)
    assert (after.statement, after.keys) == (SAID, {"2026": b"k" * 32})


@pytest.mark.requirement("C-TRU-08", "C-TRU-12")
def test_records_are_withheld_from_the_moment_the_last_statement_is_over() -> None:
    assert withheld(KNOWN, TERMS, now=SAID.expires_at - 1) is None
    assert withheld(KNOWN, TERMS, now=SAID.expires_at) is Distrust.FROZEN
    assert withheld(KNOWN, TERMS, now=NOW - 60 * SECOND) is None
    assert withheld(KNOWN, TERMS, now=NOW - 60 * SECOND - 1) is Distrust.CLOCK_BEHIND


@pytest.mark.requirement("C-TRU-13")
def test_without_a_statement_the_demand_decides() -> None:
    assert withheld(None, TERMS, now=NOW) is Distrust.UNSIGNED
    assert withheld(None, replace(TERMS, demand=Demand.ONCE_SEEN), now=NOW) is None


def test_a_newer_signature_under_one_epoch_moves_only_the_time() -> None:
    again = replace(SAID, issued_at=NOW + SECOND, expires_at=SAID.expires_at + SECOND)
    after = accepted(KNOWN, again, proof="again", now=NOW)
    assert after == replace(KNOWN, statement=again, fresh_until=again.expires_at)
    assert accepted(after, SAID, proof="proof", now=NOW) == after


@pytest.mark.requirement("C-TRU-22")
def test_versions_that_stayed_while_the_rows_changed_are_noticed() -> None:
    reused = accepted(KNOWN, replace(SAID, epoch=8, content=OTHER_ROWS), proof="8", now=NOW + 5)
    assert reused.reused_at == NOW + 5
    # Not so when the versions moved as well, when rows are not said, or when nothing did.
    for statement in (
        replace(SAID, epoch=8, root=OTHER, content=OTHER_ROWS),
        replace(SAID, epoch=8, content=""),
        replace(SAID, epoch=8),
    ):
        assert accepted(KNOWN, statement, proof="8", now=NOW + 5).reused_at is None
    silent = accepted(None, replace(SAID, content=""), proof="7", now=NOW)
    assert accepted(silent, replace(SAID, epoch=8), proof="8", now=NOW).reused_at is None


def test_the_past_is_bounded() -> None:
    known = KNOWN
    for epoch in range(8, 100):
        known = accepted(known, replace(SAID, epoch=epoch), proof=str(epoch), now=NOW)
    assert [state.epoch for state in known.past] == list(range(99, 67, -1))
    assert known.once_said(ROOT)
    assert not known.once_said(OTHER)


def test_the_root_names_tables_versions_and_rules_and_their_absence() -> None:
    roots = {
        versions_root({}, None),
        versions_root({}, ""),
        versions_root({"a": "1"}, None),
        versions_root({"a": "1"}, "1"),
        versions_root({"a": "1", "b": "1"}, None),
        versions_root({"b": "1"}, None),
    }
    assert len(roots) == 6
    assert versions_root({"a": "1", "b": "2"}, None) == versions_root({"b": "2", "a": "1"}, None)


@pytest.mark.parametrize("field", ["skew_us", "longest_us"])
def test_terms_that_nothing_could_meet_are_refused(field: str) -> None:
    with pytest.raises(InvalidValue, match=field):
        replace(TERMS, **{field: -1})
    with pytest.raises(InvalidValue, match="issuer"):
        Terms(issuer="")
