"""Episodes of an unmodified MCP client behind `lapse mcp-proxy`, as a transcript.

    python examples/mcp_transcript.py

Every episode is a new host: a new proxy process and a new client session, over the same ledger
file. The client is the SDK's own, and the agent knows nothing of lapse: it does what any agent
does, which is to read the tools' descriptions, call, and on an error do what the error says.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

import lapse

SHOP = Path(__file__).with_name("mcp_shop.py")
OBJECT = re.compile(r"\{.*\}")


def read_up(description: str, plan: str) -> dict[str, str]:
    """What a description tells an agent to merge for this plan: a model's reading, in code."""
    for line in description.splitlines():
        told = re.fullmatch(r"- \w+: when (\{.*\}) merge (\{.*\})", line)
        if told and json.loads(told[1]) == {"plan": plan}:
            return json.loads(told[2])
    return {}


def do_as_told(error: str) -> dict[str, str]:
    """What an error tells an agent to merge: the words the model sees, nothing beside them."""
    told = OBJECT.search(error)
    assert told, error
    return json.loads(told[0])["recovery_feedback"]["suggestions"][0]["parameters"]


def words(result: CallToolResult) -> str:
    """What a host shows of a result: its text."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def episode(url: str, ledger: Path, plan: str, *, consume: str, heed: bool) -> None:
    """One task: place an order, at most five attempts."""
    proxy = ["-m", "lapse.cli", "mcp-proxy", "--url", url, "--store", str(ledger), "--quiet"]
    host = StdioServerParameters(command=sys.executable, args=[*proxy, "--consume", consume])
    async with Client(stdio_client(host)) as client:
        tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        order = {"plan": plan, **(read_up(tools["place"], plan) if heed else {})}
        for attempt in range(1, 6):
            result = await client.call_tool("place", order)
            text = words(result)
            print(f"    attempt {attempt}: place({json.dumps(order)})")
            print(f"      {'refused' if result.is_error else 'done'}: {text.splitlines()[0]}")
            if not result.is_error:
                return
            order |= do_as_told(text)


async def rotate(url: str, plan: str, code: str) -> None:
    """The operator, who talks to the shop itself."""
    async with Client(url) as operator:
        result = await operator.call_tool("rotate", {"plan": plan, "code": code})
        print(f"  {words(result)}: the code for {plan} is another one now")


def remembered(ledger: Path) -> None:
    """What the ledger holds, and why what ended did."""
    with lapse.open(ledger) as memory:
        for record in memory.records(live=False):
            reasons = " -> ".join(chapter.reason for chapter in memory.why(record.id))
            told = record.content["when"]["plan"], record.content["parameters"]["code"]
            print(f"    {told[0]}: {told[1]}  {record.status}  ({reasons})")


@contextmanager
def running_shop() -> Generator[str]:
    """The shop in a process of its own; gives its address."""
    with subprocess.Popen(
        [sys.executable, str(SHOP), "--http", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def play(consume: str, folder: Path) -> None:
    """The whole story in one mode."""
    heed = consume == "brief"
    ledger = folder / f"{consume}.db"
    print(f"== lapse mcp-proxy --consume {consume} ==")
    print(
        "The model reads what holds in the tool's description."
        if heed
        else "The agent reads nothing; the proxy merges what holds into its calls."
    )
    with running_shop() as url:
        for title in ("First episodes: nothing is known", "Second episodes: the memory helps"):
            print(title)
            for plan in ("growth", "scale"):
                print(f"  an agent orders {plan}")
                await episode(url, ledger, plan, consume=consume, heed=heed)
        print("The table rotates")
        await rotate(url, "growth", "WINTER26")
        print("Third episodes: one row of two has moved")
        for plan in ("scale", "growth"):
            print(f"  an agent orders {plan}")
            await episode(url, ledger, plan, consume=consume, heed=heed)
        print("  in the ledger, and why:")
        remembered(ledger)
    print()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for mode in sys.argv[1:] or ("brief", "apply"):
            anyio.run(play, mode, Path(name))
