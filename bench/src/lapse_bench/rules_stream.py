"""Reads the rule stream, and makes a service's rules move as it says, over HTTP."""

from __future__ import annotations

import hmac
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lapse.contract import Rule
from lapse.errors import InvalidValue, Refused
from lapse_bench.service import service

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from lapse.server import ASGIApp, Contract, Receive, Scope, Send
    from lapse_bench.service import Judge

__all__ = ["RuleDriver", "RuleEvent", "RuleStream", "RuleTask", "load_rules", "rules_service"]

_OPERATOR_PATH = "/operator/rules"
_OK = 200
_UNAUTHORIZED = 401


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RuleTask(_Strict):
    """What an agent is asked to do, before it knows better."""

    operation: str = Field(pattern=r"^[A-Z]+ /")
    request: dict[str, Any]


class _Declared(_Strict):
    from_table: str = Field(alias="from")
    to_table: str = Field(alias="to")
    relation: str
    via: str = ""

    def rule(self) -> Rule:
        return Rule(self.from_table, self.to_table, self.relation, self.via)


class RuleEvent(_Strict):
    """Rules that are withdrawn, and rules that are declared, before an episode."""

    before: Annotated[int, Field(ge=0)]
    withdraw: tuple[_Declared, ...] = ()
    declare: tuple[_Declared, ...] = ()


class _File(_Strict):
    name: str
    world: Literal["acme-rules-v1"]
    tasks: dict[str, RuleTask]
    episodes: list[list[str]]
    events: list[RuleEvent]


class RuleStream(_Strict):
    """A stream that can be run: `families` are the tasks' names, one an episode."""

    name: str
    world: str
    families: tuple[str, ...]
    episodes: tuple[RuleTask, ...]
    events: tuple[RuleEvent, ...]


def load_rules(path: Path | None = None) -> RuleStream:
    """Read a rule stream; the shipped one when no file is named.

    Raises:
        InvalidValue: the file cannot be read, or breaks the form; the message names the place.
    """
    found = Path(str(files("lapse_bench.scenarios"))) / "rules.yaml" if path is None else path
    try:
        given = _File.model_validate(yaml.safe_load(found.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as failure:
        remedy = f"give a readable YAML file ({failure})"
        raise InvalidValue("scenario", str(found), remedy) from None
    except ValidationError as failure:
        first = failure.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidValue(f"{found.name}: {place}", first["input"], first["msg"]) from None
    names = [name for block in given.episodes for name in block]
    for name in names:
        if name not in given.tasks:
            remedy = f"name one of {', '.join(given.tasks)}"
            raise InvalidValue(f"episodes of {given.name}", name, remedy)
    return RuleStream(
        name=given.name,
        world=given.world,
        families=tuple(names),
        episodes=tuple(given.tasks[name] for name in names),
        events=tuple(sorted(given.events, key=lambda event: event.before)),
    )


class RuleDriver:
    """Applies a stream's events, each once, before its episode.

    Args:
        stream: says which rules move and when.
        rules: what the service starts with.
        operator: a client of the service that may declare rules.
    """

    def __init__(self, stream: RuleStream, rules: Sequence[Rule], operator: httpx2.Client) -> None:
        self._events = list(stream.events)
        self._rules = list(rules)
        self._operator = operator

    def before(self, episode: int) -> None:
        """Apply what comes before an episode.

        Raises:
            Refused: the service did not take the rules.
            InvalidValue: a rule is to be withdrawn that is not declared.
        """
        while self._events and self._events[0].before <= episode:
            event = self._events.pop(0)
            for rule in (declared.rule() for declared in event.withdraw):
                if rule not in self._rules:
                    raise InvalidValue("withdraw", rule, "name a rule that is declared")
                self._rules.remove(rule)
            self._rules += [declared.rule() for declared in event.declare]
            said = [[r.from_table, r.to_table, r.relation, r.via] for r in self._rules]
            answer = self._operator.post(_OPERATOR_PATH, json=said)
            if answer.status_code != _OK:
                msg = f"the service did not take the rules: {answer.text}"
                raise Refused(msg, status=answer.status_code)


def rules_service(contract: Contract, judge: Judge) -> ASGIApp:
    """The service of a world, with a door through which its operator declares rules.

    The contract knows no such door: who declares rules is a deployment, not a message.
    """
    inner = service(contract, judge)
    expected = f"Bearer {contract.operator_token}".encode()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") != _OPERATOR_PATH:
            await inner(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        known = hmac.compare_digest(headers.get(b"authorization", b""), expected)
        if known:
            contract.declare(Rule(*declared) for declared in json.loads(await _body(receive)))
        status = _OK if known else _UNAUTHORIZED
        head = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": b""})

    return app


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)
