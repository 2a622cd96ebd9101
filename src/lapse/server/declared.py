"""A contract server from one file of tables, rules and policies.

::

    contract, policies = load("acme.yaml", operator_token=token, state_file="acme.state.json")
    app = application(contract, policies)

The file is YAML, of which JSON is a part, read strictly: only JSON's own scalars are more than text
(a date and ``no`` stay text), a name given twice is refused, and there are no aliases and no tags.
What the members mean stands at `lapse.contract.declaration`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lapse.contract import Declaration, Level, declaration
from lapse.errors import InvalidValue
from lapse.server.application import application
from lapse.server.contract import Contract
from lapse.server.strict_yaml import read_yaml

if TYPE_CHECKING:
    from lapse.contract import Aliases, Policy
    from lapse.server.signing import Signing

__all__ = ["application", "load", "parse"]


def parse(text: str | bytes) -> Declaration:
    """What the text of a file declares.

    Raises:
        InvalidValue: it is not YAML as read here, or something in it is not as it should be.
    """
    return declaration(read_yaml(text))


def load(
    path: str | Path,
    *,
    level: int = Level.L6,
    operator_token: str | None = None,
    location: str = "/contract",
    state_file: str | Path | None = None,
    signing: Signing | None = None,
    aliases: Aliases | None = None,
) -> tuple[Contract, tuple[Policy, ...]]:
    """The contract and the policies that a file declares.

    Args:
        path: the file.
        level: as `Contract`.
        operator_token: as `Contract`.
        location: as `Contract`.
        state_file: as `Contract`.
        signing: as `Contract`.
        aliases: as `Contract`.

    Raises:
        InvalidValue: the file cannot be read, or something in it is not as it should be.
        StoreError: the state file cannot be used.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as failure:
        raise InvalidValue(
            "path", str(path), f"name a readable file ({failure.strerror})"
        ) from None
    declared = parse(text)
    contract = Contract(
        declared.registry,
        level=level,
        operator_token=operator_token,
        location=location,
        state_file=state_file,
        signing=signing,
        aliases=aliases,
    )
    return contract, declared.policies
