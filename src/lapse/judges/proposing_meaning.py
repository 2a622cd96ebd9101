"""A proposer that ranks items by what they mean, through embeddings that a package carries.

The vectors are those of `wordllama` (MIT): 256 numbers for each token of a vocabulary of 32,000,
cut out of a language model's own. A text is the mean of its tokens; how near two texts are, is the
cosine. Nothing is fetched and no network runs, so a text costs microseconds. The package itself is
not imported: that would set up logging for the whole program, and load a client for downloads.

Nearness is about topics. It finds changes in other words, and it finds what merely sounds alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.errors import MissingExtra
from lapse.judges.proposing import check_most, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from lapse.admission import Scan, WorkItem
    from lapse.judges.proposing import Per, Ranked
    from lapse.runtime import Proposal

    Vectors = npt.NDArray[np.float32]

__all__ = ["Embedded", "embed", "loaded"]

_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER: Final = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR: Final = "embedding.weight"

_PLACES: Final = 5
"""Decimals of a cosine that count: below them, machines differ in how they add up."""


def embed(texts: Sequence[str]) -> Vectors:
    """The texts as vectors of length 1, shape (texts, 256); a text without a token is zeros.

    Raises:
        MissingExtra: the extra `embed` is not installed.
    """
    import numpy as np  # noqa: PLC0415 - only who embeds pays for it

    vectors, tokenizer = loaded()
    found = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    for place, text in enumerate(texts):
        tokens: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        if tokens:
            mean = vectors[tokens].mean(axis=0, dtype=np.float64)
            length = np.linalg.norm(mean)
            found[place] = mean / length if length else 0
    return found


@cache
def loaded() -> tuple[Vectors, Any]:
    """The package's vectors and its tokenizer: 16 MB, read once.

    Raises:
        MissingExtra: the extra `embed` is not installed.
    """
    spec = find_spec(_PACKAGE)
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        weights, tokenizer = folder / _WEIGHTS, folder / _TOKENIZER
        if weights.exists() and tokenizer.exists():
            try:
                reader: Any = import_module("safetensors.numpy")
                tokens: Any = import_module("tokenizers")
            except ImportError:
                break
            read: Vectors = reader.load_file(weights)[_TENSOR]
            made = tokens.Tokenizer.from_file(str(tokenizer))
            made.no_truncation()
            made.no_padding()
            return read.astype("float32"), made
    raise MissingExtra("the embedder", "embed")


@dataclass(frozen=True, slots=True)
class Embedded:
    """Names the pairs that are nearest to each other in meaning; ties by id.

    Attributes:
        most: how many it names for each.
        per: for each item, or for each event.

    Raises:
        InvalidValue: a setting that names nothing.
        MissingExtra: when it scans, and the extra `embed` is not installed.
    """

    most: int = 8
    per: Per = "item"

    def __post_init__(self) -> None:
        """Refuse settings that name nothing."""
        check_most(self.most, self.per)

    @property
    def name(self) -> str:
        """What it is, with its settings."""
        return f"embedded-1 {_PACKAGE} {_WEIGHTS.stem} most={self.most} per={self.per}"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`."""
        return named(scans, _by_meaning, self.most, self.per)


def _by_meaning(candidates: Mapping[str, WorkItem]) -> Ranked:
    import numpy as np  # noqa: PLC0415 - only who embeds pays for it

    names = sorted(candidates)
    vectors = embed([candidates[name].text for name in names])

    def ranked(about: WorkItem) -> Iterable[str]:
        nearness = cast("Vectors", np.round(vectors @ embed([about.text])[0], _PLACES))
        # A stable sort leaves ties as they stand: by id.
        order: list[int] = np.argsort(-nearness, kind="stable").tolist()
        return (names[place] for place in order)

    return ranked
