"""Proposers: which later items each of them names, in which order, and what it cannot see."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.admission import Scan, WorkItem
from lapse.errors import InvalidValue, PeerError
from lapse.judges import AllPairs, Bm25, DeclaredPremise, Embedded, SharedEntity, Union
from lapse.judges import proposing_meaning as meaning
from lapse.judges.proposing_words import WordIndex
from lapse.runtime import Cost, Proposal, Proposer
from lapse.testing.judging_cases import PROPOSER_CASES
from lapse.testing.workspace import statement

PROPOSERS: list[Proposer] = [
    AllPairs(),
    Bm25(),
    Bm25(most=1),
    DeclaredPremise(),
    Embedded(most=2),
    Embedded(most=1, per="event"),
    SharedEntity(),
    SharedEntity(per="event"),
    Bm25(per="event"),
    Union((SharedEntity(), Bm25())),
]


@pytest.mark.parametrize("proposer", PROPOSERS, ids=lambda proposer: proposer.name)
@pytest.mark.parametrize("case", PROPOSER_CASES, ids=lambda case: case.__name__)
def test_the_proposers_of_this_room_keep_what_proposers_promise(
    case: Callable[[Proposer], None], proposer: Proposer
) -> None:
    case(proposer)


def named(proposer: Proposer, older: WorkItem, *later: WorkItem) -> tuple[str, ...]:
    proposal = proposer.scan([Scan(older, later)])[older.id]
    assert proposal.failure is None
    return proposal.named


def later(item_id: str, text: str = "", epoch: int = 12, **more: Any) -> WorkItem:
    return statement(item_id, text, epoch=epoch, **more)


GARDEN = statement("old", "Tomatoes grow in my garden behind the house", slot="home/garden/crop")


def test_all_pairs_are_named_the_latest_first() -> None:
    assert named(AllPairs(), GARDEN, later("a"), later("b", epoch=13)) == ("b", "a")


def test_what_is_about_the_same_thing_by_name_is_named_more_in_common_first() -> None:
    older = statement("old", slot="trip/hotel/name", supports=("where",))
    assert named(
        SharedEntity(),
        older,
        later("elsewhere", slot="house/rent"),
        later("early", slot="trip/train"),
        later("late", slot="trip/food", epoch=13),
        later("near", slot="trip/hotel/address"),
        later("same-need", slot="where-to", supports=("where",)),
        later("both", slot="trip/where", supports=("where",)),
    ) == ("both", "near", "late", "early", "same-need")


def test_a_slot_without_a_path_is_about_nothing_else() -> None:
    assert named(SharedEntity(), statement("old", slot="trip"), later("a", slot="trip/x")) == ()


def test_a_later_word_about_what_is_taken_for_granted_is_named_the_latest_first() -> None:
    hotel = statement("hotel", "it is Sunrise", slot="trip/hotel")
    pickup = statement("pickup", epoch=2, stamps=(hotel.as_premise(),))
    assert named(
        DeclaredPremise(),
        pickup,
        later("moved", slot="trip/hotel"),
        later("street", slot="trip/hotel/street", epoch=13),
        later("trip", slot="trip"),
        later("hotels", slot="trip/hotels"),
    ) == ("street", "moved")
    assert named(DeclaredPremise(), hotel, later("moved", slot="trip/hotel")) == ()


def test_shared_words_are_found_whatever_their_ending_or_accents() -> None:
    assert named(
        Bm25(),
        GARDEN,
        later("talk", "a bus was full"),
        later("crop", "we are growing a tomato again"),
        later("place", "a gárden has gone"),
    ) == ("crop", "place")


def test_other_words_are_not_found_by_words_and_may_be_found_by_meaning() -> None:
    plants = later("plants", "vegetables froze last night")
    talk = later("talk", "I watched a film about lawyers")
    assert named(Bm25(), GARDEN, plants, talk) == ()
    assert named(Embedded(most=1), GARDEN, plants, talk) == ("plants",)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Straße", "die Kirche und die straße"), ("cafe\u0301 noir", "ein Café"), ("ÉTÉ", "l'été")],
)
def test_a_word_is_found_however_its_letters_are_written(one: str, other: str) -> None:
    found = list(WordIndex(["nothing", other]).ranked(one))
    assert [place for place, _ in found] == [1]


def test_a_word_counts_once_however_often_it_is_asked_for() -> None:
    index = WordIndex(["a tomato", "no such thing", "nor this one"])
    assert list(index.ranked("Tomato tomato TOMATO")) == list(index.ranked("tomato"))


def test_the_longest_text_can_be_asked_about() -> None:
    text = " ".join(f"w{at}" for at in range(1_000))[:4096]
    assert [place for place, _ in WordIndex([text, "x"]).ranked(text)] == [0]


@pytest.mark.parametrize(
    "text", ["!?", "日本", '"; DROP TABLE said; --', "NEAR(a b) OR * ^", "a" * 4096]
)
def test_any_text_can_be_ranked_by_words(text: str) -> None:
    assert named(Bm25(), statement("old", text), later("same", text), later("other", "x y z")) in (
        ("same",),
        (),
    )


def okapi(texts: list[str], asked: str) -> dict[int, float]:
    """The formula as SQLite documents it, for words that no stemmer touches."""
    documents = [Counter(text.split()) for text in texts]
    mean = sum(document.total() for document in documents) / len(documents)
    scores: dict[int, float] = {}
    for place, document in enumerate(documents):
        for word in set(asked.split()) & set(document):
            having = sum(word in other for other in documents)
            rarity = math.log((len(documents) - having + 0.5) / (having + 0.5))
            rarity = rarity if rarity > 0 else 1e-6
            count = document[word]
            length = 1 - 0.75 + 0.75 * document.total() / mean
            share = count * (1.2 + 1) / (count + 1.2 * length)
            scores[place] = scores.get(place, 0) + rarity * share
    return scores


WORDS = st.lists(st.sampled_from(["hub", "map", "tot", "zip", "fun"]), min_size=1, max_size=8)


@given(texts=st.lists(WORDS.map(" ".join), min_size=1, max_size=8), asked=WORDS.map(" ".join))
def test_the_score_is_okapi_bm25(texts: list[str], asked: str) -> None:
    found = list(WordIndex(texts).ranked(asked))
    assert dict(found) == pytest.approx(okapi(texts, asked))
    assert found == sorted(found, key=lambda one: (-one[1], one[0]))


def test_ties_are_named_by_id() -> None:
    same = [later(name, "a tomato") for name in ("c", "a", "b")]
    assert named(Bm25(), GARDEN, *same) == ("a", "b", "c")
    assert named(Embedded(), GARDEN, *same) == ("a", "b", "c")


def test_vectors_have_length_one_or_nothing() -> None:
    vectors = meaning.embed(["the hotel", "", "日本 naïve"])
    assert vectors.shape == (3, 256)
    assert [float((one**2).sum()) for one in vectors] == pytest.approx([1, 0, 1], abs=1e-5)


def test_the_embedder_leaves_logging_alone_and_loads_no_client() -> None:
    before = list(logging.getLogger().handlers)
    meaning.embed(["a text"])
    assert logging.getLogger().handlers == before
    assert "wordllama" not in sys.modules


PROGRAM = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname == "tokenizers":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None

sys.meta_path.insert(0, Absent())
from lapse.errors import MissingExtra
from lapse.judges.proposing_meaning import embed, loaded
try:
    embed(["a text"])
except MissingExtra as missing:
    print(missing)
del sys.meta_path[0]
sys.path[:] = [path for path in sys.path if "site-packages" not in path or sys.argv[1] == path]
sys.path_importer_cache.clear()
try:
    loaded()
except MissingExtra as missing:
    print(missing)
"""


def test_without_its_package_the_embedder_says_what_to_install() -> None:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", PROGRAM, ""], capture_output=True, text=True, check=True
    )
    missing = "the embedder needs the extra 'embed': pip install 'lapse[embed]'\n"
    assert done.stdout == 2 * missing


@pytest.mark.parametrize("make", [Bm25, Embedded, SharedEntity])
def test_naming_none_is_no_proposer(make: type[Bm25 | Embedded | SharedEntity]) -> None:
    with pytest.raises(InvalidValue, match="most"):
        make(most=0)
    with pytest.raises(InvalidValue, match="pass item or event"):
        make(per="pair")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [Bm25, Embedded, SharedEntity])
def test_for_each_event_the_items_are_named_that_it_speaks_most_of(
    make: type[Bm25 | Embedded | SharedEntity],
) -> None:
    items = [
        statement("bed", "the hotel is by the river", slot="trip/hotel/bed"),
        statement("food", "the hotel serves breakfast at eight", slot="trip/hotel/food"),
        statement("seat", "a window seat in the train", slot="trip/train/seat"),
        statement("cat", "a neighbour feeds the cat", slot="home/cat"),
    ]
    events = (
        later("closed", "the hotel by the river has closed", slot="trip/hotel/bed/open"),
        later("strike", "no train runs, not even for a window seat", slot="trip/train/runs"),
    )
    scans = [Scan(item, events) for item in items]
    found = {older: one.named for older, one in make(most=1, per="event").scan(scans).items()}
    assert found == {"bed": ("closed",), "food": (), "seat": ("strike",), "cat": ()}
    two = make(most=2, per="event").scan(scans)
    assert sum(len(one.named) for one in two.values()) <= 4
    assert two["food"].named[:1] == ("closed",)


def test_an_event_is_named_only_for_items_that_came_before_it() -> None:
    first, second = later("first", "a tomato"), later("second", "two tomatoes", epoch=13)
    asked = [Scan(GARDEN, (first, second)), Scan(first, (second,))]
    found = Bm25(most=1, per="event").scan(asked)
    assert found["old"].named == ("first",)
    assert found["first"].named == ("second",)


def test_an_item_is_offered_only_what_came_after_it() -> None:
    first, second = later("first", "a tomato"), later("second", "two tomatoes", epoch=13)
    asked = [Scan(GARDEN, (first, second)), Scan(first, (second,))]
    assert {name: one.named for name, one in Bm25().scan(asked).items()} == {
        "old": ("first", "second"),
        "first": ("second",),
    }


class Said:
    """Says what it is given about the item `old`."""

    name = "said"

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal

    def scan(self, scans: object) -> dict[str, Proposal]:
        del scans
        return {"old": self.proposal}


def test_a_union_names_what_any_names_by_its_best_place() -> None:
    one = Said(Proposal(("a", "b"), cost=Cost(1, 2, 3)))
    other = Said(Proposal(("c", "b", "a"), cost=Cost(1)))
    united = Union((one, other)).scan([Scan(GARDEN, (later("a"),))])["old"]
    assert united == Proposal(("a", "c", "b"), cost=Cost(2, 2, 3))


def test_a_union_fails_where_one_of_it_fails() -> None:
    down = PeerError("down")
    union = Union((Said(Proposal(("a",))), Said(Proposal(failure=down, cost=Cost(1)))))
    assert union.scan([Scan(GARDEN, (later("a"),))])["old"] == Proposal(failure=down, cost=Cost(1))
    with pytest.raises(InvalidValue, match="at least one"):
        Union(())
