"""The hand-written set in STALE's shape as returns to an obligation, with private experience.

Each session is a statement in a slot of its own. The belief and what breaks it are evidence for the
same dependency, the topic as it is; the remark on the topic that changes nothing is evidence for
its background; small talk is evidence for nothing. The agent owes both, the topic being critical,
and has an experience that it learned from the belief. What supports what is set by hand: in the
source, a model decides that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.admission import (
    Budget,
    Epochs,
    Policy,
    Returning,
    Verdict,
    WorkItem,
    capture,
    difference,
    merge,
)
from lapse.ledger import Interval, Kind, Outcome, Receipt, Scope, Source, Stamp
from lapse_bench.ablations.looking import relevance
from lapse_bench.ablations.variants import Return
from lapse_bench.returns.stale_shaped import SESSIONS, stale_shaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.admission import Question
    from lapse_bench.returns.stale_shaped import Shaped

__all__ = ["stale_returns", "stale_truth"]

_LOG: Final = "log"
_MEMBER: Final = Scope(principal="assistant", role="helper", task="user")
_BACK: Final = Scope(principal="assistant", role="helper", task="user", purpose="help")
_BUDGET: Final = Budget(items=8, chars=4096)
"""The source's defaults."""

_BELIEF: Final = "belief"
_CHANGE: Final = "change"


def stale_returns() -> Iterator[Return]:
    """The 120 returns."""
    for shaped in stale_shaped():
        yield _return(shaped)


def stale_truth(question: Question) -> Verdict:
    """What an honest verifier answers: the change breaks the belief, and nothing else anything."""
    pair = (question.older.id, question.later.id)
    return Verdict.INVALIDATES if pair == (_BELIEF, _CHANGE) else Verdict.STANDS


def _return(shaped: Shaped) -> Return:
    record = shaped.record
    old, new = map(int, record["relevant_session_index"])
    queries = record["probing_queries"]
    names = {old: _BELIEF, new: _CHANGE, shaped.near: "near"}
    supports = {old: ("topic",), new: ("topic",), shaped.near: ("background",)}
    said: list[WorkItem] = [
        _item(
            names.get(index, f"session-{index:02}"),
            str(session[0]["content"]),
            at=index + 1,
            supports=supports.get(index, ()),
        )
        for index, session in enumerate(record["haystack_session"])
    ]
    belief = said[old]
    left = old + 1
    owed: dict[str, Any] = {"obligation": "help"}
    demands: dict[str, Any] = {"required": ("background", "topic"), "critical": ("topic",)}
    mine = [
        _item("o", "Help the user", at=left, kind=Kind.OBLIGATION, **owed, **demands),
        _item("f", "The user is back", at=left, kind=Kind.FRONTIER, **owed),
        _item(
            "learned",
            f"I remember it well: {belief.text}",
            kind=Kind.EXPERIENCE,
            at=left,
            scope=Scope(principal="assistant"),
            rests_on=belief,
        ),
    ]
    departure = capture([*said[:left], *mine], _MEMBER, epoch=left, at=left)
    back = Returning(cycle=record["uid"], who=_BACK, epoch=SESSIONS + 1, at=SESSIONS + 1)
    checkpoint = merge(departure, difference(departure, [*said, *mine], epoch=SESSIONS + 1), back)
    asked = _item("asked", " ".join(queries.values()), at=SESSIONS + 1)
    return Return(
        id=record["uid"],
        block=shaped.stratum,
        checkpoint=checkpoint,
        policy=Policy(observers=frozenset({_LOG}), budget=_BUDGET),
        relevance=relevance(asked, said),
        needed={"change": frozenset({_CHANGE})},
        stale={"belief": frozenset({_BELIEF, "learned"})},
    )


def _item(
    name: str, text: str, *, at: int, rests_on: WorkItem | None = None, **more: Any
) -> WorkItem:
    fields: dict[str, Any] = {"kind": Kind.FACT, "slot": name, "writer": "user"}
    seen = [_receipt(Source.probe(_LOG, name), "", at)]
    if rests_on is not None:
        bound = Source.record(rests_on.id)
        fields["stamps"] = (Stamp(bound, rests_on.digest()),)
        seen.append(_receipt(bound, rests_on.digest(), at))
    return WorkItem(
        id=name,
        text=text,
        epochs=Epochs(at),
        valid=Interval(at),
        receipts=tuple(seen),
        **(fields | more),
    )


def _receipt(source: Source, seen: str, at: int) -> Receipt:
    return Receipt(observer=_LOG, source=source, at=at, digest=seen, outcome=Outcome.CONFIRMS)
