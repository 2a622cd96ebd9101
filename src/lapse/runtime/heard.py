"""What a return heard from whoever answered its questions, as it is kept with the decision.

With it the decision can be taken again from the ledger alone, years later and without a judge. It
names items by id and repeats no word of them; of a failure it keeps the kind, because a message may
carry what was sent.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from lapse.admission import Pair, Verdict
from lapse.errors import InvalidValue, NoVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.admission import Scan

__all__ = ["NOTHING", "Heard"]

_MALFORMED = "malformed"
_RAISED = "raised "
_VERDICTS = {verdict.value: verdict for verdict in Verdict}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Answers to scans and questions, as far as they count.

    A pair that was named and stands decides the same as one that was not named, so it is not kept:
    how many were asked about is told with the cost.

    Attributes:
        named: the later items that a scan named and that do not leave the older one standing, by
            its id; a scan that is in none of these named nothing that counts.
        failed: the scans that failed, each with the kind of failure; empty for what is no answer.
        silent: the scans that nobody answered.
        answers: a verdict, the kind of failure, or the word for what is no answer, by pair.
    """

    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    silent: tuple[str, ...] = ()
    answers: Mapping[Pair, str] = field(default_factory=dict[Pair, str])

    @classmethod
    def of(
        cls,
        asked: Sequence[Scan],
        scanned: Mapping[str, object],
        answers: Mapping[Pair, object],
    ) -> Heard:
        """What came of these scans and of the questions after them."""
        named: dict[str, tuple[str, ...]] = {}
        failed: dict[str, str] = {}
        silent: list[str] = []
        told: dict[Pair, str] = {}
        for scan in asked:
            older = scan.older.id
            if older not in scanned:
                silent.append(older)
                continue
            found = _names(scanned[older], {item.id for item in scan.later})
            if isinstance(found, str):
                failed[older] = found
                continue
            pairs = [Pair(older, name) for name in found]
            count = [pair for pair in pairs if answers.get(pair, _SILENT) is not Verdict.STANDS]
            if count:
                named[older] = tuple(pair.later for pair in count)
            told.update((pair, _word(answers[pair])) for pair in count if pair in answers)
        return cls(named=named, failed=failed, silent=tuple(silent), answers=told)

    def scanned(self, asked: Sequence[Scan]) -> dict[str, object]:
        """The scans' answers, as `propose` takes them."""
        found: dict[str, object] = {}
        for scan in asked:
            older = scan.older.id
            if older in self.failed:
                kind = self.failed[older]
                found[older] = NoVerdict(kind) if kind else None
            elif older not in self.silent:
                found[older] = self.named.get(older, ())
        return found

    def answered(self) -> dict[Pair, object]:
        """The questions' answers, as `judge` takes them."""
        return {pair: _answer(word) for pair, word in self.answers.items()}

    def as_json(self) -> dict[str, Any]:
        """The form that is stored."""
        return {
            "named": {older: list(later) for older, later in self.named.items()},
            "failed": dict(self.failed),
            "silent": list(self.silent),
            "answers": [[*pair, word] for pair, word in sorted(self.answers.items())],
        }

    @classmethod
    def from_json(cls, value: Any) -> Heard:
        """Read what `as_json` wrote.

        Raises:
            InvalidValue: the value has another shape.
        """
        try:
            return cls(
                named={str(older): tuple(map(str, ids)) for older, ids in value["named"].items()},
                failed={str(older): str(kind) for older, kind in value["failed"].items()},
                silent=tuple(map(str, value["silent"])),
                answers={
                    Pair(str(older), str(later)): str(word)
                    for older, later, word in value["answers"]
                },
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InvalidValue("heard", value, "pass what Heard.as_json() gives") from None


def _names(answer: object, offered: Collection[str]) -> list[str] | str:
    """The ids that a scan named, or the kind of failure; empty for what is no answer."""
    if isinstance(answer, Exception):
        return type(answer).__name__
    if not isinstance(answer, list | tuple | set | frozenset):
        return ""
    names = cast("Collection[object]", answer)
    found = [name for name in names if isinstance(name, str) and name in offered]
    return sorted(set(found)) if len(found) == len(names) else ""


_SILENT = object()

NOTHING = Heard()
"""Nobody was asked anything."""


def _word(answer: object) -> str:
    match answer:
        case Verdict():
            return answer.value
        case Exception():
            return f"{_RAISED}{type(answer).__name__}"
        case _:
            return _MALFORMED


def _answer(word: str) -> object:
    if word.startswith(_RAISED):
        return NoVerdict(word.removeprefix(_RAISED))
    return _VERDICTS.get(word)
