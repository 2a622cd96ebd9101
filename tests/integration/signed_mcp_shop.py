"""A shop that signs over MCP, as a process of its own: `KEYFILE FOLDER PORT`."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server import MCPServer

from lapse.contract import Registry, Table, Violation
from lapse.server import Contract, Rejected, Signing
from lapse.server.mcp import ContractExtension
from lapse.server.run import run
from lapse.signing.key_files import read_signer
from lapse.storage import SystemClock

ISSUER = "https://shop.example/mcp"
key, folder, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
contract = Contract(
    Registry.of([Table("codes", {"growth": "SUMMER25", "scale": "PARTNER20"}, "1.0.0")]),
    state_file=folder / "state.json",
    signing=Signing(
        read_signer(key), issuer=ISSUER, clock=SystemClock(), epoch_file=folder / "epoch"
    ),
)
seat = ContractExtension(contract)
server = MCPServer("shop", extensions=[seat], subscriptions=seat.reloads, log_level="ERROR")
seat.offer(server)


@server.tool()
def place(plan: str, code: str | None = None) -> str:
    """Place an order for a plan."""
    with contract.reading() as tables:
        wanted = tables["codes"].get(plan)
        if code != wanted:
            fix = tables.suggest("ADD_CODE", {"code": wanted}, when={"plan": plan})
            raise Rejected(
                Violation(policy="plan-code", title="Another code", detail="No", suggestions=(fix,))
            )
    return f"placed {plan}"


@server.tool()
def rotate(plan: str, code: str) -> str:
    """Put another code on file."""
    rows = contract.registry.tables["codes"].rows
    return str(contract.reload("codes", {**rows, plan: code}).new_version)


def told(host: str, bound_port: int) -> None:
    """Say where it listens."""
    sys.stdout.write(f"http://{host}:{bound_port}/mcp\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(server.streamable_http_app(), port=port, bound=told)
