"""From what a user types after `--judge` to who looks whether later items break earlier ones.

| judge | looks at | and lets rule on it |
| --- | --- | --- |
| `none` | nothing: what might be broken is left out | nobody |
| `rules` | items that declare what they take for granted; others stand | a rule |
| a model | the same, and items that share words or names with later ones | the rule, then it |
"""

from __future__ import annotations

from contextlib import contextmanager
from os import environ
from typing import TYPE_CHECKING, Annotated

import typer

from lapse.cli.output import errors_explained
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Generator

    from lapse.judges import ModelJudge
    from lapse.runtime import Judging

__all__ = ["BaseUrl", "Judge", "judging_named"]

Judge = Annotated[
    str,
    typer.Option(
        "--judge",
        envvar="LAPSE_JUDGE",
        help="Who looks whether later items break earlier ones: 'none', so that what might be "
        "broken is left out; 'rules', by what items declare and nothing else; or a model: local, "
        "openai:MODEL, anthropic:MODEL.",
    ),
]
BaseUrl = Annotated[
    str,
    typer.Option(
        "--judge-url", help="Where the model's service is; its own address when left out."
    ),
]


@contextmanager
def judging_named(name: str, base_url: str = "") -> Generator[Judging | None]:
    """Who answers what the workspace's history does not say, for as long as it is needed.

    The key of a model's service is taken from OPENAI_API_KEY or ANTHROPIC_API_KEY.
    """
    with errors_explained():
        if name == "none":
            yield None
            return
        from lapse.judges import Bm25, DeclaredPremise, DeclaredPremises, InTurn, SharedEntity
        from lapse.runtime import Judging

        if name == "rules":
            yield Judging((DeclaredPremise(),), DeclaredPremises())
            return
        with _model(name, base_url) as model:
            proposers = (DeclaredPremise(), SharedEntity(), Bm25())
            yield Judging(proposers, InTurn((DeclaredPremises(), model)))


def _model(name: str, base_url: str) -> ModelJudge:
    from pydantic import SecretStr

    from lapse.judges import JUDGE_NAMES, JudgeSettings, judge_named

    kind, _, model = name.partition(":")
    if name not in JUDGE_NAMES and not (model and f"{kind}:MODEL" in JUDGE_NAMES):
        known = ", ".join(("none", "rules", *JUDGE_NAMES))
        raise InvalidValue("--judge", name, f"pick one of {known}")
    variable = f"{kind.upper()}_API_KEY"
    secret = environ.get(variable)
    if model and not secret:
        raise InvalidValue(variable, None, f"set it to the key of the service behind {name}")
    key = SecretStr(secret) if secret else None
    return judge_named(name, JudgeSettings(key=key, base_url=base_url or None))
