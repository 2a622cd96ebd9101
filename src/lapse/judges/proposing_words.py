"""A proposer that ranks items by the words that they share: Okapi BM25.

The ranking is that of SQLite's full-text index, which the default store brings along anyway: k1 is
1.2, b is 0.75, words are stemmed as English is, accents do not count, and a word that half of the
ranked items have counts for nothing. How rare a word is, is counted over all that is ranked in a
return: the later items, or for each event the earlier ones.

It cannot see a change in other words than the item's own, and it takes a text that is written
without spaces for one word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from unicodedata import normalize

from lapse.judges.proposing import check_most, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lapse.admission import Scan, WorkItem
    from lapse.judges.proposing import Per, Ranked
    from lapse.runtime import Proposal

__all__ = ["Bm25", "WordIndex"]

_WORD: Final = re.compile(r"[^\W_]+")


class WordIndex:
    """Texts that can be ranked by the words of another one. One thread at a time.

    Args:
        texts: what is ranked.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        apsw: Any = import_module("apsw")  # a database that only who ranks words waits for
        self._index: Any = apsw.Connection(":memory:")
        self._index.execute(
            "CREATE VIRTUAL TABLE said USING fts5"
            "(text, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._index.executemany(
            "INSERT INTO said (rowid, text) VALUES (?, ?)",
            [(place, normalize("NFC", text)) for place, text in enumerate(texts)],
        )

    def ranked(self, text: str) -> Iterator[tuple[int, float]]:
        """The texts that share a word with this one, as place and score, the best first.

        Of equal scores the smaller place comes first.
        """
        found = _WORD.findall(normalize("NFC", text))
        words = {word.casefold(): word for word in found}  # each once; the index folds by itself
        if not words:
            return iter(())
        asked = " OR ".join(f'"{word}"' for word in words.values())
        rows: Iterator[tuple[int, float]] = self._index.execute(
            "SELECT rowid, -bm25(said) FROM said WHERE said MATCH ? ORDER BY 2 DESC, 1", (asked,)
        )
        return rows


@dataclass(frozen=True, slots=True)
class Bm25:
    """Names the pairs whose words speak most for them; ties by id.

    Attributes:
        most: how many it names for each.
        per: for each item, or for each event.
    """

    most: int = 8
    per: Per = "item"

    def __post_init__(self) -> None:
        """Refuse settings that name nothing."""
        check_most(self.most, self.per)

    @property
    def name(self) -> str:
        """What it is, with its settings."""
        return f"bm25-fts5-1 most={self.most} per={self.per}"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`."""
        return named(scans, _by_words, self.most, self.per)


def _by_words(candidates: Mapping[str, WorkItem]) -> Ranked:
    names = sorted(candidates)
    index = WordIndex([candidates[name].text for name in names])
    return lambda about: (names[place] for place, _ in index.ranked(about.text))
