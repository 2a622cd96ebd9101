"""Laws of the digest envelope: what is rebuilt is what was said, and silence says nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lapse.contract import (
    CacheHint,
    Delta,
    Held,
    Registry,
    RowVersion,
    Rule,
    Suggestion,
    Table,
    TableVersion,
)
from lapse.runtime import Digests, Sent
from lapse.server import Contract
from lapse.server.digests import Asking
from lapse.wire import Reason, read_response
from lapse.wire.digests import (
    Have,
    Said,
    have_field,
    have_member,
    read_digest,
    read_digest_member,
    read_have,
    read_have_member,
    said_fields,
    said_members,
)
from lapse.wire.references import compact_members, resolved

NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\u2028\u2029"),
    min_size=1,
    max_size=8,
)
MAPS = st.dictionaries(NAMES, NAMES, max_size=6)
TAGS = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_-]{3,20}\Z")


@given(MAPS, MAPS, st.none() | NAMES, NAMES)
@pytest.mark.requirement("C-DIG-07", "C-DIG-15")
def test_a_delta_over_either_carrier_rebuilds_the_map(
    before: dict[str, str], after: dict[str, str], rules: str | None, moved_rules: str
) -> None:
    touched = {t for t in before.keys() | after.keys() if before.get(t) != after.get(t)}
    delta = Delta.of(touched, after, rules_version=moved_rules)
    now = Held(after, moved_rules)
    said = Said("echo", now.tag, delta)
    over_http = read_digest([(n.encode(), v.encode()) for n, v in said_fields(said)])
    in_meta = read_digest_member(said_members(said))
    for read in (over_http, in_meta):
        assert isinstance(read, Said)
        assert read.to == now.tag
        assert read.delta is not None
        assert Held(before, rules).after(read.delta, now.tag) == now


@given(TAGS, st.none() | TAGS)
@pytest.mark.requirement("C-DIG-03", "C-DIG-20")
def test_what_is_held_is_read_as_it_was_written(tag: str, by: str | None) -> None:
    have = Have(tag, by)
    assert read_have(have_field(have).encode()) == have
    assert read_have_member(have_member(have)) == have


@given(st.binary(max_size=40))
@pytest.mark.requirement("C-DIG-05")
def test_no_field_makes_a_reader_fail(value: bytes) -> None:
    assert isinstance(read_have(value), Have | None)
    headers = [(b"lapse", value), (b"contract-moved", value), (b"contract-rules", value)]
    assert isinstance(read_digest(headers), Said | Reason | None)


@pytest.mark.requirement("C-DIG-05")
def test_what_is_too_long_is_not_looked_at() -> None:
    assert read_have(b"tag;by=x" + b";a" * 200) is None
    many = b", ".join(b'"t%d";v="1"' % n for n in range(9_000))
    assert read_digest([(b"lapse", b"echo;to=tag"), (b"contract-moved", many)]) is Reason.TOO_LARGE
    moved = {str(n): None for n in range(20_001)}
    said = {"since": "echo", "root": "tag", "moved": moved}
    assert read_digest_member(said) is Reason.TOO_MANY


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
MEMBERS: Any = st.dictionaries(
    st.sampled_from(["same", "since", "root", "moved", "rules_version", "by"]), TAGS | JSON
)


@given(MEMBERS | JSON, JSON)
@pytest.mark.requirement("C-DIG-05", "C-DIG-19", "C-DIG-20")
def test_no_member_makes_a_reader_fail(value: object, on: object) -> None:
    assert isinstance(read_have_member(value), Have | None)
    assert isinstance(read_digest_member(value), Said | Reason | None)
    fix = Suggestion(type="SET", parameters={}, more={"on": on})
    found = resolved(fix, Held({"codes": "1"}))
    assert found is not None
    assert found.table in (None, "codes")


@st.composite
def suggestions(draw: st.DrawFn) -> tuple[Suggestion, dict[str, str]]:
    versions = draw(st.dictionaries(NAMES, NAMES, min_size=1, max_size=5))
    named = draw(st.lists(st.sampled_from(sorted(versions)), min_size=1, unique=True))
    rows = draw(
        st.lists(
            st.builds(RowVersion, st.sampled_from(named), NAMES, st.none() | NAMES),
            max_size=4,
            unique_by=lambda row: (row.table, row.key),
        )
    )
    vector = draw(st.booleans())
    fix = Suggestion(
        type="SET",
        parameters={"a": 1},
        cache_hint=CacheHint.CACHEABLE,
        table=draw(st.sampled_from(named)),
        tables=tuple(TableVersion(t, versions[t]) for t in named) if vector else (),
        rows=tuple(rows),
        when=draw(st.none() | st.just({"plan": "growth"})),
    )
    recompute = Suggestion(
        type="SET", parameters={"a": 1}, cache_hint=CacheHint.RECOMPUTE, when=None
    )
    return draw(st.sampled_from([fix, fix, recompute])), versions


@given(suggestions())
@pytest.mark.requirement("C-DIG-12")
def test_a_suggestion_beside_a_digest_says_the_same(
    case: tuple[Suggestion, dict[str, str]],
) -> None:
    fix, versions = case
    held = Held(versions)
    body = {"recovery_feedback": {"suggestions": [compact_members(fix, held)]}}
    reading = read_response((), _json(body))
    assert reading.refusals == ()
    (read,) = reading.envelope.suggestions
    found = resolved(read, held)
    assert found is not None
    assert _ordered(found) == _ordered(fix)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _ordered(fix: Suggestion) -> Suggestion:
    """The order of tables and rows says nothing."""
    tables = tuple(sorted(fix.tables, key=lambda entry: entry.table))
    rows = tuple(sorted(fix.rows, key=lambda row: (row.table, row.key)))
    return replace(fix, tables=tables, rows=rows)


# -- answers that overtake each other, get lost, and reach the wrong one ---------------------------


@dataclass(frozen=True)
class Answer:
    """An answer under way: what was asked, how things stood, and its header lines."""

    sent: Sent | None
    versions: dict[str, str]
    rules: str
    lines: tuple[tuple[bytes, bytes], ...]


ISSUER = "shop"
TABLES = [f"table_{n}" for n in range(9)]


class Exchanges(RuleBasedStateMachine):
    """A service that moves and is started again, and a client whose answers come as they like."""

    @initialize()
    def begin(self) -> None:
        self.contract = Contract(Registry.of([Table(t, {"k": 0}, "1") for t in TABLES]))
        self.digests = Digests()
        self.under_way: list[Answer] = []
        self.count = 0

    @rule(table=st.sampled_from(TABLES))
    def move(self, table: str) -> None:
        self.count += 1
        self.contract.reload(table, {"k": self.count}, f"v{self.count}")

    @rule(table=st.sampled_from(TABLES))
    def unload_or_load(self, table: str) -> None:
        self.count += 1
        loaded = table in self.contract.registry.tables
        self.contract.reload(table, None if loaded else {"k": self.count})

    @rule(relation=st.sampled_from(["a", "b"]))
    def declare(self, relation: str) -> None:
        if {"table_0", "table_1"} <= self.contract.registry.tables.keys():
            self.contract.declare([Rule("table_0", "table_1", relation, "k")])

    @rule()
    def start_again(self) -> None:
        self.contract = Contract(self.contract.registry)

    @rule()
    def start_the_client_again(self) -> None:
        self.digests = Digests()

    @rule()
    def ask(self) -> None:
        kept = self.digests.kept(ISSUER)
        sent = None if kept is None else Sent.of(kept, vouched=True)
        contract = self.contract
        lines = contract.lines if sent is None else Asking(contract, sent.have).lines
        now = contract.registry
        self.under_way.append(Answer(sent, dict(now.table_versions), now.rules_version, lines))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def arrive(self, data: st.DataObject) -> None:
        answer = data.draw(st.sampled_from(self.under_way))
        self.under_way.remove(answer)
        self._read(answer, answer.sent)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def get_lost(self, data: st.DataObject) -> None:
        self.under_way.remove(data.draw(st.sampled_from(self.under_way)))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def reach_another_request(self, data: st.DataObject) -> None:
        answer = data.draw(st.sampled_from(self.under_way))
        other = data.draw(st.sampled_from(self.under_way))
        self._read(answer, other.sent)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), without=st.sampled_from([b"lapse", b"contract-moved", b"contract-rules"]))
    def lose_a_line(self, data: st.DataObject, without: bytes) -> None:
        answer = data.draw(st.sampled_from(self.under_way))
        lines = tuple(line for line in answer.lines if line[0] != without)
        if any(name == b"contract-versions" for name, _ in lines):
            return  # a map that lost its rules is another map, and is no matter of digests
        self._read(replace(answer, lines=lines), answer.sent)

    def _read(self, answer: Answer, sent: Sent | None) -> None:
        envelope = read_response(answer.lines, None).envelope
        heard = self.digests.heard(ISSUER, sent, envelope, read_digest(answer.lines), None)
        said = heard.envelope
        # What is believed is how things stood when the answer was given, or nothing is.
        if said.table_versions is None:
            assert said.rules_version is None or heard.refused is None
        else:
            assert dict(said.table_versions) == answer.versions
            assert said.rules_version == answer.rules

    @invariant()
    def what_is_kept_has_the_tag_it_is_called_by(self) -> None:
        kept = getattr(self, "digests", Digests()).kept(ISSUER)
        if kept is not None:
            fresh = Held(dict(kept.held.table_versions), kept.held.rules_version)
            assert kept.held.tag == fresh.tag


Exchanges.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestExchanges = pytest.mark.requirement("C-DIG-14", "C-DIG-15", "C-DIG-16")(Exchanges.TestCase)
