"""Laws of what a workspace keeps: a decision taken again from what is kept is the same decision."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lapse.admission import Captured, Pair, Policy, Screened, Verdict
from lapse.errors import InvalidValue, NoVerdict
from lapse.ledger import decode, encode
from lapse.runtime.heard import Heard
from lapse.testing.workspace import OBSERVER, leaving, returning, statement

BEFORE, LATER = ("b1", "b2", "b3"), ("n1", "n2")
names = st.sampled_from([*BEFORE, *LATER, "nobody"])


def screened() -> Screened:
    """Three facts from before, followed by two."""
    before = [statement(name, epoch=1) for name in BEFORE]
    after = [statement(name, epoch=15) for name in LATER]
    return Captured(
        returning(leaving(*before), *before, *after), Policy(observers=frozenset({OBSERVER}))
    ).next()


no_answers: st.SearchStrategy[object] = st.sampled_from(
    [None, 3, "n1", {"n1": 1}, [["n1"]], [1], ValueError("secret"), NoVerdict("down")]
)
lists: st.SearchStrategy[object] = st.lists(names, max_size=3).flatmap(
    lambda found: st.sampled_from([found, tuple(found), set(found), frozenset(found)])
)
scanned = st.dictionaries(names, lists | no_answers, max_size=5)
answers = st.dictionaries(
    st.builds(Pair, names, names),
    st.sampled_from([*Verdict, None, "stands", 7, ValueError("secret"), NoVerdict("down")]),
    max_size=8,
)


@given(scanned, answers)
def test_what_is_kept_of_answers_decides_as_the_answers_did(
    scans: dict[str, object], told: dict[Pair, object]
) -> None:
    cycle = screened()
    heard = Heard.of(cycle.scans, scans, told)
    kept = Heard.from_json(decode(encode(heard.as_json())))
    assert kept == heard
    again = cycle.next(kept.scanned(cycle.scans), kept.answered())
    assert again == cycle.next(scans, told)
    assert b"secret" not in encode(heard.as_json())


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda v: (
            st.lists(v)
            | st.dictionaries(st.sampled_from(["named", "failed", "silent", "answers"]), v)
        ),
    )
)
def test_what_is_no_record_of_answers_is_refused_or_read(value: Any) -> None:
    try:
        heard = Heard.from_json(value)
    except InvalidValue:
        return
    assert Heard.from_json(heard.as_json()) == heard
