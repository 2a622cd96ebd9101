"""Bearer tokens of a workspace, and who their bearers are.

What is kept is the SHA-256 of a token, so a file of tokens that gets out lets nobody in. A token is
made of 32 random bytes: nobody finds one by trying, so its digest needs no salt and no slow hash.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from lapse.errors import InvalidValue
from lapse.server.workspace_asked import Name
from lapse.server.workspace_grants import Grant

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Tokens"]

_SHORTEST = 32
"""Characters of the shortest token that is taken; 32 random bytes have 43 in base64."""

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Word = Annotated[str, StringConstraints(max_length=256)]


class _Entry(BaseModel):
    """One bearer as the file has it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    sha256: Digest
    principal: Name
    role: Name
    task: Name | None = None
    tenant: Name | None = None
    purposes: list[Name] = Field(default_factory=list)
    authority: Word = ""
    observer: Word = ""
    operator: bool = False

    def grant(self) -> Grant:
        """Who the bearer is."""
        return Grant(
            principal=self.principal,
            role=self.role,
            task=self.task,
            tenant=self.tenant,
            purposes=frozenset(self.purposes),
            authority=self.authority,
            observer=self.observer,
            operator=self.operator,
        )


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    tokens: list[_Entry]


class Tokens:
    """Who may call; immutable, safe to share.

    Args:
        grants: who the bearer of each token is, by the token's SHA-256 in hex.
    """

    __slots__ = ("_grants",)

    def __init__(self, grants: dict[str, Grant] | None = None) -> None:
        self._grants = dict(grants or {})

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._grants.values())

    def grant_of(self, token: str) -> Grant | None:
        """Who bears a token; None: nobody who is known."""
        # What is looked up is a digest: how long that takes tells nothing about the token.
        return self._grants.get(_digest(token))

    def granting(self, token: str, grant: Grant) -> Tokens:
        """The same, and the bearer of this token.

        Raises:
            InvalidValue: the token is too short to be random.
        """
        if len(token) < _SHORTEST:
            shown = f"{len(token)} characters"
            raise InvalidValue("token", shown, "pass 32 random bytes in base64")
        return Tokens({**self._grants, _digest(token): grant})

    @classmethod
    def parse(cls, text: str | bytes) -> Tokens:
        """Read what `written` gives.

        Raises:
            InvalidValue: it is something else; the message says where, and repeats no digest.
        """
        try:
            read = _File.model_validate_json(text)
        except ValidationError as failure:
            first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            remedy = f"make it with 'lapse workspace token' ({first['msg']})"
            raise InvalidValue("tokens", place, remedy) from None
        return cls({entry.sha256: entry.grant() for entry in read.tokens})

    def written(self) -> str:
        """The text of a file of these tokens."""
        entries = [{"sha256": known, **_members(grant)} for known, grant in self._grants.items()]
        return json.dumps({"tokens": entries}, indent=1, ensure_ascii=False) + "\n"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _members(grant: Grant) -> dict[str, Any]:
    members: dict[str, Any] = {
        "principal": grant.principal,
        "role": grant.role,
        "task": grant.task,
        "tenant": grant.tenant,
        "purposes": sorted(grant.purposes),
        "authority": grant.authority,
        "observer": grant.observer,
        "operator": grant.operator,
    }
    return {name: value for name, value in members.items() if value not in (None, "", [], False)}
