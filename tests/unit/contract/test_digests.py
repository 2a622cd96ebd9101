"""The digest envelope as pure values: tags, deltas, references."""

from __future__ import annotations

from hashlib import sha256

import pytest

from lapse.contract import Delta, Held, echo_of, tag_of, token, versions_root

MAP = {"codes": "1.0.0", "plans": "2"}


@pytest.mark.requirement("C-DIG-01", "C-DIG-02")
def test_a_tag_is_made_of_the_map_and_begins_with_a_letter() -> None:
    held = Held(MAP, "abc")
    assert held.root == versions_root(MAP, "abc")
    assert held.tag == tag_of(held.root)
    assert len(held.tag) == 16
    assert held.tag[0].isalpha()
    assert echo_of(held.tag) == held.tag[:4]
    assert Held(dict(reversed(MAP.items())), "abc").tag == held.tag
    assert len({held.tag, Held(MAP, None).tag, Held(MAP, "abd").tag, Held({}, "abc").tag}) == 4


def test_a_token_leaves_out_what_may_not_come_first() -> None:
    digest = bytes.fromhex("fbefbe") * 10  # base64url of it is "----..." but for the letters
    assert token(digest, 4) == ""
    assert token(b"\xfb\xef\xbe" + bytes(27), 4) == "AAAA"


def test_a_map_says_what_it_was_made_of() -> None:
    held = Held(MAP, "abc")
    assert held.says(MAP, "abc")
    assert held.says(dict(MAP), "abc")
    assert not held.says(MAP, None)
    assert not held.says({"codes": "1.0.0"}, "abc")


def test_a_delta_leads_from_one_map_to_the_next() -> None:
    now = {"codes": "1.0.1", "rates": "1"}
    delta = Delta.of({"codes", "plans", "rates"}, now, rules_version="new")
    assert delta == Delta(
        changed={"codes": "1.0.1", "rates": "1"}, gone=("plans",), rules_version="new"
    )
    after = Held(MAP, "abc").after(delta, Held(now, "new").tag)
    assert after == Held(now, "new")


@pytest.mark.requirement("C-DIG-15")
def test_a_delta_that_leads_elsewhere_leads_nowhere() -> None:
    delta = Delta(changed={"codes": "1.0.1"}, gone=("never there",))
    assert Held(MAP).after(delta, Held({**MAP, "codes": "1.0.2"}).tag) is None
    assert Held(MAP).after(delta, Held({**MAP, "codes": "1.0.1"}).tag) is not None


@pytest.mark.requirement("C-DIG-13")
def test_references_are_the_beginnings_of_names_digests() -> None:
    held = Held(MAP)
    assert held.references.keys() == MAP.keys()
    assert {len(reference) for reference in held.references.values()} == {4}
    assert held.referred(held.references["plans"]) == "plans"
    assert held.referred("????") is None
    assert Held({}).references == {}
    assert Held({"b": "1", "a": "2", "B": "3"}).tables == ("B", "a", "b")


@pytest.mark.requirement("C-DIG-13")
def test_references_grow_until_they_are_all_different() -> None:
    alike = [name for name in map(str, range(40_000)) if sha256(name.encode()).digest()[0] == 7]
    held = Held(dict.fromkeys((str(n) for n in range(40_000)), "1"))
    lengths = {len(reference) for reference in held.references.values()}
    assert lengths == {len(next(iter(held.references.values())))}
    assert min(lengths) > 4
    assert len(set(held.references.values())) == 40_000
    assert all(held.referred(held.references[name]) == name for name in alike)
