"""The payments stream as MCP tool calls over streamable HTTP, its results counted.

A result carries the contract in up to three places. What stands in the text goes to the model, so
it is counted in tokens as well: the text, less the same text without what a fix rests on.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from mcp import Client
from mcp.server import MCPServer

import lapse
from lapse.runtime import Digests
from lapse.server import Contract, Rejected
from lapse.server.mcp import ContractExtension
from lapse.transports.mcp import RememberingClient
from lapse_bench.serving import served
from lapse_bench.wire.tokens import tokens
from lapse_bench.worlds import acme

if TYPE_CHECKING:
    from lapse.ledger import JsonObject
    from lapse_bench.wire.streams import Form, Stream

__all__ = ["Result", "run_mcp"]

_KEY: Final = "dev.lapse/invalidation-contract"
_OF_A_FIX: Final = ("cache_hint", "table", "tables", "rows", "when", "on", "r")
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Result:
    """The bytes of one tool result.

    Attributes:
        whole: the result as JSON.
        contract: of that, everything of the contract.
        meta: of that, what stands in `_meta`.
        tokens: of the text that the model reads, those of the contract.
    """

    whole: int
    contract: int
    meta: int
    tokens: int


def run_mcp(stream: Stream, form: Form) -> list[Result]:
    """Run a stream's tasks as tool calls, with a memory at row granularity."""
    contract = Contract(acme.initial(), level=form.level, extensions=form.extensions)
    seat = ContractExtension(contract)
    server: MCPServer[Any] = MCPServer("billing", extensions=[seat], log_level="ERROR")
    seat.offer(server)
    for operation in acme.OPERATIONS:
        _offer(server, contract, operation)
    app = server.streamable_http_app(json_response=True)
    with served(cast("Any", app), lives=True) as url:
        return asyncio.run(_calls(f"{url}/mcp", stream, form, contract))


def _offer(server: MCPServer[Any], service: Contract, operation: str) -> None:
    def call(  # noqa: PLR0913 - the members that the stream's requests have
        *,
        customer: str | None = None,
        plan: str | None = None,
        program: str | None = None,
        campaign: str | None = None,
        promotion_code: str | None = None,
        contract: str | None = None,
        amount: str | None = None,
        payment_method_token: str | None = None,
        name: str | None = None,
        email: str | None = None,
    ) -> str:
        given = {
            "customer": customer,
            "plan": plan,
            "program": program,
            "campaign": campaign,
            "promotion_code": promotion_code,
            "contract": contract,
            "amount": amount,
            "payment_method_token": payment_method_token,
            "name": name,
            "email": email,
        }
        request: dict[str, Any] = {n: value for n, value in given.items() if value is not None}
        with service.reading() as tables:
            violation = acme.judge(operation, request, tables)
            if violation is not None:
                raise Rejected(violation)
        return "accepted"

    server.tool(name=_tool(operation))(call)


def _tool(operation: str) -> str:
    return operation.rpartition("/")[2]


async def _calls(url: str, stream: Stream, form: Form, contract: Contract) -> list[Result]:
    found: list[Result] = []
    with lapse.open("memory:") as memory:
        memory.digests = Digests(speaks=form.digest)
        async with Client(url) as client:
            agent = RememberingClient(memory, client)
            await agent.refresh()  # so that the first result need not say the map either
            for index, (operation, request) in enumerate(stream.tasks):
                if index in stream.moves:
                    stream.moves[index](contract)
                found += await _attempt(agent, _tool(operation), request)
    return found


async def _attempt(agent: RememberingClient, tool: str, request: JsonObject) -> list[Result]:
    amended = dict(request)
    for fix in agent.fixes(tool, request):
        amended.update(fix.parameters)
    found: list[Result] = []
    for _ in range(_ATTEMPTS):
        result = await agent.call_tool(tool, amended)
        said: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        found.append(_counted(said))
        feedback = said.get("structuredContent", {}).get("recovery_feedback", {})
        if not said.get("isError") or not feedback:
            break
        for suggestion in feedback["suggestions"]:
            amended.update(suggestion["parameters"])
    return found


def _counted(result: dict[str, Any]) -> Result:
    bare: dict[str, Any] = json.loads(json.dumps(result))
    meta = bare.get("_meta", {})
    meta.pop(_KEY, None)
    if not meta:
        bare.pop("_meta", None)
    in_meta = _length(result) - _length(bare)
    structured = bare.get("structuredContent")
    if isinstance(structured, dict):
        _strip(cast("dict[str, Any]", structured))
    spent = 0
    blocks: list[dict[str, Any]] = bare["content"] if result.get("isError") else []
    for block in blocks:
        text = str(block["text"])
        sentence, _, line = text.partition("\n")
        if not line.startswith("{"):
            continue
        said: dict[str, Any] = json.loads(line)
        _strip(said)
        without = f"{sentence}\n{json.dumps(said, separators=(',', ':'), ensure_ascii=False)}"
        spent += tokens(text) - tokens(without)
        block["text"] = without
    whole = _length(result)
    return Result(whole, whole - _length(bare), in_meta, spent)


def _strip(members: dict[str, Any]) -> None:
    members.pop("table_versions", None)
    members.pop("rules_version", None)
    for fix in members.get("recovery_feedback", {}).get("suggestions", []):
        for name in _OF_A_FIX:
            fix.pop(name, None)


def _length(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
