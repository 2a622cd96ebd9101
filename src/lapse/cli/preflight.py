"""`lapse preflight`: does a planner take over fixes that hold? Asked before a memory is built."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from os import environ
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lapse.cli.output import (
    Exit,
    Format,
    FormatOption,
    errors_explained,
    print_json,
    print_table,
    say,
    warn,
)
from lapse.contract import Consumption

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.judges import Planner
    from lapse.judges.preflight import Factor, Preflight, Trial

__all__ = ["preflight"]

_CONTROL = "control"
"""As `lapse.judges.preflight_cases` calls it, which is loaded when the command runs."""

_TYPES = "add_a_field,rewrite_a_value,conditional_rewrite"


class Shown(StrEnum):
    """How fixes are put to a model; the source text's Levels 2 and 3."""

    PATCH = "patch"
    AMENDED = "amended"


_Words = Literal["plain", "short", "example"]


_Planner = Annotated[
    str,
    typer.Option(
        "--planner",
        help="Who writes the requests: local, openai:MODEL, anthropic:MODEL, or a script such as "
        "newest or conservative.",
    ),
]
_Model = Annotated[str, typer.Option("--model", help="The MODEL, apart from the planner's kind.")]
_BaseUrl = Annotated[
    str,
    typer.Option("--base-url", help="Where the model's service is; its own address when left out."),
]
_PerType = Annotated[
    int, typer.Option("--per-type", min=1, max=1_000, help="How many fixes of each type.")
]
_Types = Annotated[
    str, typer.Option("--types", help="Which types, with commas between; a control comes along.")
]
_Seed = Annotated[int, typer.Option("--seed", help="Decides every value of every case.")]
_Level = Annotated[Shown, typer.Option("--level", help="How fixes are put to a model.")]
_Prompting = Annotated[
    _Words, typer.Option("--prompting", help="The words around a task for a model.")
]
_Validity = Annotated[
    float,
    typer.Option("--validity", min=0, max=1, help="The share of remembered fixes that hold."),
]
_Bound = Annotated[
    float,
    typer.Option(
        "--bound", min=0, max=1, help="The least compliance that is worth a memory block."
    ),
]


def preflight(
    planner: _Planner,
    model: _Model = "",
    base_url: _BaseUrl = "",
    per_type: _PerType = 20,
    types: _Types = _TYPES,
    seed: _Seed = 0,
    level: _Level = Shown.AMENDED,
    prompting: _Prompting = "plain",
    validity: _Validity = 1.0,
    bound: _Bound = 0.5,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Measure whether a planner applies fixes that hold, per way of changing a request.

    The key of a model's service is taken from OPENAI_API_KEY or ANTHROPIC_API_KEY. The exit code is
    1 when compliance with some type is below the bound.
    """
    with errors_explained():
        from lapse.judges.preflight import preflight as run
        from lapse.judges.preflight_cases import cases

        kinds = [kind.strip() for kind in types.split(",") if kind.strip()]
        asked = cases(
            [*dict.fromkeys([*kinds, _CONTROL])] if kinds else (), each=per_type, seed=seed
        )
        name = f"{planner}:{model}" if model else planner
        found = _planner(name, seed=seed, base_url=base_url, level=level, prompting=prompting)
        try:
            result = run(found, asked, tell=_progress(len(asked)))
        finally:
            close: Callable[[], None] = getattr(found, "close", lambda: None)
            close()
        below = [one for one in result.factors if one.kind != _CONTROL and one.rate < bound]
        settings = {
            "planner": name,
            "per_type": per_type,
            "seed": seed,
            "level": level.value,
            "prompting": prompting,
            "validity": validity,
            "bound": bound,
        }
        if format_ is Format.JSON:
            print_json(_json(result, settings, validity=validity, bound=bound))
        else:
            _print(result, validity=validity, bound=bound)
    raise typer.Exit(Exit.PROBLEMS if below else Exit.FINE)


def _planner(name: str, *, seed: int, base_url: str, level: Shown, prompting: str) -> Planner:
    from pydantic import SecretStr

    from lapse.judges import PlannerSettings, Prompting, planner_named

    key = environ.get(f"{name.partition(':')[0].upper()}_API_KEY")
    settings = PlannerSettings(
        seed=seed,
        level=Consumption[level.name],
        prompting=Prompting(prompting),
        key=SecretStr(key) if key else None,
        base_url=base_url or None,
    )
    return planner_named(name, settings)


def _progress(number: int) -> Callable[[Trial], None]:
    done = 0

    def tell(trial: Trial) -> None:
        nonlocal done
        done += 1
        warn(f"{done}/{number} {trial.case.kind}: {trial.outcome}")

    return tell


def _print(result: Preflight, *, validity: float, bound: float) -> None:
    say(
        f"Planner {result.planner}: {result.probe.asked} was asked for, "
        f"{result.probe.answered} answered."
    )
    advised = {
        factor.kind: result.advice(factor, validity=validity, bound=bound)
        for factor in result.factors
        if factor.kind != _CONTROL
    }
    rows: list[tuple[str, ...]] = []
    for factor in result.factors:
        low, high = factor.interval
        advice = advised.get(factor.kind)
        saved = (f"{advice.saving:.2f}", f"{advice.saving_applied:.2f}") if advice else ("", "")
        share = f"{factor.rate:.1%}"
        applied = f"{factor.applied}/{factor.trials}"
        rows.append((factor.kind, applied, share, f"{low:.0%} to {high:.0%}", *saved))
    print_table(
        "Compliance, and failed first attempts saved per remembered fix",
        ("type", "right", "share", "95 %", "told", "merged"),
        rows,
        empty="Nothing was tried.",
    )
    if any(factor.each for factor in result.factors):
        print_table(
            "Tokens per request",
            ("type", "prompt", "of it memory", "completion"),
            [
                (factor.kind, *(f"{total / factor.trials:.0f}" for total in _totals(factor)))
                for factor in result.factors
            ],
            empty="",
        )
    for kind, advice in advised.items():
        net = "" if advice.net_tokens is None else f" ({advice.net_tokens:+.0f} tokens a request)"
        say(f"{kind}: {advice.advice}: {advice.words}{net}")


def _totals(factor: Factor) -> tuple[int, int, int]:
    return factor.tokens.prompt, factor.tokens.memory, factor.tokens.completion


def _json(
    result: Preflight, settings: dict[str, Any], *, validity: float, bound: float
) -> dict[str, Any]:
    return {
        "lapse": version("lapse"),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "planner": {
            "name": result.planner,
            "asked": result.probe.asked,
            "answered": result.probe.answered,
        },
        "factors": [
            _factor_json(result, factor, validity=validity, bound=bound)
            for factor in result.factors
        ],
        "trials": [_trial_json(trial) for trial in result.trials],
    }


def _factor_json(
    result: Preflight, factor: Factor, *, validity: float, bound: float
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": factor.kind,
        "trials": factor.trials,
        "outcomes": {outcome.value: count for outcome, count in factor.outcomes.items()},
        "compliance": factor.rate,
        "interval": list(factor.interval),
        "tokens": {
            "prompt": factor.tokens.prompt,
            "memory": factor.tokens.memory,
            "completion": factor.tokens.completion,
        },
    }
    if factor.kind == _CONTROL:
        return found
    advice = result.advice(factor, validity=validity, bound=bound)
    return {
        **found,
        "saving": advice.saving,
        "saving_applied": advice.saving_applied,
        "net_tokens": advice.net_tokens,
        "advice": advice.advice.value,
        "why": advice.words,
    }


def _trial_json(trial: Trial) -> dict[str, Any]:
    fix = trial.case.fix
    return {
        "type": trial.case.kind,
        "operation": trial.case.task.operation,
        "task": trial.case.task.words,
        "without_fix": dict(trial.case.task.request),
        "fix": None if fix is None else dict(fix.parameters),
        "request": None if trial.request is None else dict(trial.request),
        "outcome": trial.outcome.value,
        "said": trial.said,
        "tokens": {
            "prompt": trial.tokens.prompt,
            "memory": trial.tokens.memory,
            "completion": trial.tokens.completion,
        },
    }
