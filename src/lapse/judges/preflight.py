"""The compliance preflight: does a planner take over fixes that are known to hold?

What a memory saves is validity times compliance (source text, equation 1): the share of remembered
fixes that still hold, times the share of those that the planner puts into its first request. The
contract answers for the first factor. The second is the planner's, it differs from one way of
changing a request to another, and this measures it, in tens of calls (section 6.1).

A request counts as compliant when it is the task's request with the fix in it, and nothing else.
That is strict on purpose: a request that carries the fix and lost a member is refused for another
reason.

    result = preflight(planner, cases((*Shape, CONTROL), each=20, seed=0), tell=lambda done: None)
    for factor in result.factors:
        print(factor.kind, factor.rate, result.advice(factor, validity=0.9).words)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import TYPE_CHECKING, Final

from lapse.contract import amend
from lapse.errors import InvalidValue, NoRequest
from lapse.judges.planning import NO_TOKENS, Tokens, checked
from lapse.judges.preflight_cases import CONTROL
from lapse.ledger import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lapse.judges.planning import Planner, Probe
    from lapse.judges.preflight_cases import Case
    from lapse.ledger import JsonObject

__all__ = [
    "BOUND",
    "Advice",
    "Factor",
    "Outcome",
    "Preflight",
    "Recommendation",
    "Trial",
    "advise",
    "judged",
    "preflight",
    "wilson",
]

BOUND: Final = 0.5
"""The least compliance with which a memory block is worth its place: below, more of what is
remembered is ignored than used."""

_LEAST_VALIDITY = 0.1
"""Where nine of ten remembered fixes no longer hold, no way of using them is worth a memory."""

_Z_95: Final = 1.959963984540054
"""The quantile of the normal distribution that leaves 2.5 % on each side."""


class Outcome(StrEnum):
    """What became of a fix in a request."""

    APPLIED = "applied"
    """The request is the right one. For a control: it is the task's."""
    IGNORED = "ignored"
    """It is the task's request, as if there were no fix."""
    PARTIAL = "partial"
    """Some of the fix is in it, and not all."""
    DAMAGED = "damaged"
    """All of the fix is in it, and something else changed. For a control: something changed."""
    OTHER = "other"
    """None of the fix is in it, and something else changed."""
    NO_REQUEST = "no_request"
    """The planner wrote something, and it is no request."""


def judged(case: Case, request: JsonObject) -> Outcome:
    """What became of the fix of a case.

    Args:
        case: what was asked.
        request: what the planner wrote.
    """
    if _same(request, case.expected):
        return Outcome.APPLIED
    if case.fix is None:
        return Outcome.DAMAGED
    if _same(request, case.task.request):
        return Outcome.IGNORED
    parameters = case.fix.parameters
    if _same(amend(request, parameters), request):
        return Outcome.DAMAGED
    taken = [
        name for name, value in parameters.items() if _same({"": request.get(name)}, {"": value})
    ]
    return Outcome.PARTIAL if taken else Outcome.OTHER


def wilson(successes: int, trials: int, z: float = _Z_95) -> tuple[float, float]:
    """Wilson's score interval for a share; from 0 to 1 where there were no trials.

    Args:
        successes: how often it was so.
        trials: of how many.
        z: the normal quantile; left out, the interval covers 95 %.

    Raises:
        InvalidValue: there are more successes than trials, or fewer than none.
    """
    if not 0 <= successes <= trials:
        raise InvalidValue("successes", successes, f"pass 0 to {trials}")
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    shrink = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / shrink
    half = z / shrink * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    # At the ends the formula gives 0 and 1, but for what rounding leaves.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return low, high


@dataclass(frozen=True, slots=True)
class Trial:
    """One case as it went.

    Attributes:
        case: what was asked.
        request: what the planner wrote; None when it was no request.
        outcome: the judgement.
        tokens: what it cost.
        said: why it is no request; empty otherwise.
    """

    case: Case
    request: JsonObject | None
    outcome: Outcome
    tokens: Tokens
    said: str = ""


@dataclass(frozen=True, slots=True)
class Factor:
    """Compliance with one kind of fix.

    Attributes:
        kind: the shape of the fixes, or `CONTROL`.
        trials: how many.
        outcomes: how many of each outcome.
        tokens: of all trials together.
    """

    kind: str
    trials: int
    outcomes: dict[Outcome, int]
    tokens: Tokens

    @property
    def applied(self) -> int:
        """How many requests were right."""
        return self.outcomes.get(Outcome.APPLIED, 0)

    @property
    def rate(self) -> float:
        """Their share, from 0 to 1."""
        return self.applied / self.trials

    @property
    def each(self) -> float:
        """What a trial cost on average, prompt and completion, in tokens."""
        return (self.tokens.prompt + self.tokens.completion) / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Where the share lies with 95 % confidence (`wilson`)."""
        return wilson(self.applied, self.trials)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a preflight found.

    Attributes:
        planner: the planner's name.
        probe: who was asked, and who answered.
        trials: every case as it went, in order.
    """

    planner: str
    probe: Probe
    trials: tuple[Trial, ...]

    @property
    def factors(self) -> tuple[Factor, ...]:
        """One per kind, in the order in which they first came."""
        kinds = dict.fromkeys(trial.case.kind for trial in self.trials)
        return tuple(
            _factor(kind, [one for one in self.trials if one.case.kind == kind]) for kind in kinds
        )

    @property
    def control(self) -> Factor | None:
        """How well requests are written without any fix; None when that was not tried."""
        return next((factor for factor in self.factors if factor.kind == CONTROL), None)

    def advice(
        self, factor: Factor, *, validity: float = 1.0, bound: float = BOUND
    ) -> Recommendation:
        """What one of the factors means; see `advise`."""
        return advise(factor, control=self.control, validity=validity, bound=bound)


def preflight(
    planner: Planner, asked: Iterable[Case], *, tell: Callable[[Trial], None]
) -> Preflight:
    """Probe a planner, then put every case before it.

    Args:
        planner: any planner.
        asked: what to put before it.
        tell: is called after each case.

    Raises:
        InvalidValue: another planner answers than the one asked for.
        LapseError: nobody answers, or not in a form that can be read. What a planner wrote in vain
            is no error here but an outcome.
    """
    probe = checked(planner)
    trials: list[Trial] = []
    for case in asked:
        trial = _tried(planner, case)
        trials.append(trial)
        tell(trial)
    return Preflight(planner.name, probe, tuple(trials))


class Advice(StrEnum):
    """What to do with fixes of a kind. The words are those of `consume` in the transports."""

    BRIEF = "brief"
    """Tell the planner: it takes them over."""
    ASK = "ask"
    """Merge them into the request outside the planner, and ask before."""
    APPLY = "apply"
    """Merge them into the request outside the planner."""
    SKIP = "do not bother"
    """Leave it: too few fixes hold."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What a factor means for a memory.

    Attributes:
        advice: what to do.
        words: the same with the reason.
        saving: failed first attempts saved for each one that a fix is remembered for, when the
            planner is told: validity times compliance.
        saving_applied: the same when the fix is merged outside the planner: validity times the
            share of requests that the planner writes rightly without a fix, where that was tried.
        net_tokens: tokens saved per request when the planner is told, after paying for the memory
            block; None where nothing is billed, or nothing was tried without a block.
    """

    advice: Advice
    words: str
    saving: float
    saving_applied: float
    net_tokens: float | None


def advise(
    factor: Factor, *, control: Factor | None, validity: float, bound: float = BOUND
) -> Recommendation:
    """Turn a factor into a recommendation; the whole interval has to be on one side of the bound.

    A first attempt that fails costs at least one more call, which is what a call costs without a
    memory block; what the block costs is how much more calls with it took.

    Args:
        factor: the compliance with one kind of fix.
        control: the same without any fix; None: not tried.
        validity: the share of remembered fixes that hold, from 0 to 1.
        bound: the least compliance that is worth a memory block, from 0 to 1.

    Raises:
        InvalidValue: a share is not between 0 and 1.
    """
    for name, share in (("validity", validity), ("bound", bound)):
        if not 0 <= share <= 1:
            raise InvalidValue(name, share, "pass a share from 0 to 1")
    saving = validity * factor.rate
    applied = validity * (1.0 if control is None else control.rate)
    net = None
    if control is not None and control.each:
        net = saving * control.each - (factor.each - control.each)
    advice = _advice(factor, control=control, validity=validity, bound=bound, net=net)
    return Recommendation(*advice, saving, applied, net)


def _advice(
    factor: Factor, *, control: Factor | None, validity: float, bound: float, net: float | None
) -> tuple[Advice, str]:
    low, high = factor.interval
    if validity < _LEAST_VALIDITY:
        return Advice.SKIP, f"only {validity:.0%} of what is remembered holds."
    if control is not None and control.interval[1] < bound:
        return (
            Advice.SKIP,
            "it writes few requests rightly even where nothing is to be fixed: take another model.",
        )
    if low >= bound:
        if net is None or net > 0:
            return Advice.BRIEF, "it takes these over: tell it."
        return Advice.APPLY, "it takes these over, and telling it costs more than that saves."
    if high < bound:
        return Advice.APPLY, "it does not take these over: merge them outside, where fields allow."
    return Advice.ASK, "too close to call: try more per type; until then merge, and ask before."


def _tried(planner: Planner, case: Case) -> Trial:
    try:
        move = planner.first(case.task, () if case.fix is None else (case.fix,))
    except NoRequest as failure:
        tokens = Tokens(failure.prompt, failure.completion, failure.memory)
        return Trial(case, None, Outcome.NO_REQUEST, tokens, failure.reason)
    return Trial(case, move.request, judged(case, move.request), move.tokens)


def _factor(kind: str, trials: Sequence[Trial]) -> Factor:
    return Factor(
        kind,
        len(trials),
        dict(Counter(trial.outcome for trial in trials)),
        sum((trial.tokens for trial in trials), NO_TOKENS),
    )


def _same(one: JsonObject, other: JsonObject) -> bool:
    try:
        return canonical(dict(one)) == canonical(dict(other))
    except InvalidValue:  # no canonical form: what has none is not what was expected
        return False
