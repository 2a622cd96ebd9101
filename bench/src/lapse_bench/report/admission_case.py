"""The travel case (appendix C.6), decided here, against what the source says of it.

The source describes the case and runs no model over it, and neither do we: whoever is asked about
the pickup sees it by the place, as the text has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lapse.admission import Blocked, Captured, Incomplete, Pair, Sealed, Verdict, admit, expose
from lapse.signing import HmacKeys
from lapse_bench.report.cells import Cell
from lapse_bench.travel import FIRST, POLICY, SECOND, honest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.admission import Checkpoint, Policy
    from lapse_bench.report.cells import Value

__all__ = ["PLACE", "case_cells"]

PLACE: Final = "Case C.6"

_KEYS: Final = HmacKeys({"k1": b"a key of the report, 32 bytes or more"}, sign_with="k1")

_KEPT: Final = ("c", "h1", "t1")
_GONE: Final = ("h0", "p0", "t0")


def case_cells() -> list[Cell]:
    """What the source says, step by step, and what came out."""
    return [
        Cell(
            place=PLACE,
            row=row,
            column=column,
            printed=printed,
            ours={"lapse": ours},
            verdict="equal" if printed == ours else "different",
            basis="case",
        )
        for row, column, printed, ours in (*_before(), *_after())
    ]


def _decided(
    checkpoint: Checkpoint, policy: Policy = POLICY, answers: dict[Pair, object] | None = None
) -> Sealed | Blocked:
    captured = Captured(checkpoint, policy)
    scanned, told = honest(captured)
    return admit(
        checkpoint,
        policy,
        scanned=scanned,
        answers=told if answers is None else answers,
        signer=_KEYS,
    )


def _before() -> Iterator[tuple[str, str, Value, Value]]:
    found = _decided(FIRST)
    row = "before confirmation"
    if not isinstance(found, Blocked):
        yield row, "decision", "not admitted", "admitted"
        return
    reasons = {j.item.id: j.reasons for j in found.eligible.shared}
    yield row, "decision", "not admitted", "not admitted"
    yield row, "Cov", 0.5, found.coverage.cov
    yield row, "Crit", 0.75, found.coverage.crit
    yield row, "excluded", ", ".join(_GONE), ", ".join(i for i in _GONE if reasons[i])
    yield row, "retained", ", ".join(_KEPT), ", ".join(i for i in _KEPT if not reasons[i])
    yield row, "why h0 is out", "superseded", reasons["h0"][0].value
    yield row, "why t0 is out", "superseded", reasons["t0"][0].value
    yield row, "why p0 is out", "invalidated", reasons["p0"][0].value
    yield row, "what is missing", "d_p", ", ".join(one.dependency for one in found.missing)
    yield row, "a proposed pickup supplies d_p", "no", _yes(not reasons["p_proposed"])
    reset = _decided(FIRST, replace(POLICY, when_incomplete=Incomplete.RESET))
    inherited = "nothing" if isinstance(reset, Blocked) else "a view"
    yield row, "inherited under reset", "nothing", inherited
    train = _decided(
        FIRST,
        answers={Pair("p0", "h1"): Verdict.STANDS, Pair("p0", "t1"): Verdict.STANDS},
    )
    stands = all(not j.reasons for j in train.eligible.shared if j.item.id == "p0")
    yield row, "a later train alone invalidates p0", "no", _yes(not stands)


def _after() -> Iterator[tuple[str, str, Value, Value]]:
    row = "after confirmation"
    first, found = _decided(FIRST), _decided(SECOND)
    if not isinstance(found, Sealed):
        yield row, "decision", "admitted", "not admitted"
        return
    yield row, "decision", "admitted", "admitted"
    shown = sorted(item.id for item in found.view.items)
    yield row, "view", "c, f_h, f_t, h1, o_h, o_t, p1, t1", ", ".join(shown)
    yield row, "items", 8.0, float(len(shown))
    yield row, "Cov", 1.0, found.view.coverage.cov
    yield row, "Crit", 1.0, found.view.coverage.crit
    back = {item.id for item in found.experience}
    for source, printed in (("c", "yes"), ("h0", "no"), ("p0", "no")):
        yield row, f"experience bound to {source} returns", printed, _yes(f"e_{source}" in back)
    yield row, "the first decision is unchanged", "yes", _yes(_decided(FIRST) == first)
    again = expose(found.signed, _KEYS, SECOND.returning, found.eligible.digests())
    yield row, "the view passes its checks on exposure", "yes", _yes(again == found.view)


def _yes(true: bool) -> str:  # noqa: FBT001 - a word for a truth
    return "yes" if true else "no"
