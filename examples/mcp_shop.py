"""A small shop as an MCP server that speaks the contract; `mcp_transcript.py` plays with it.

python examples/mcp_shop.py                      on standard input and output
python examples/mcp_shop.py --http 0             over HTTP on a free port; prints the address
python examples/mcp_shop.py --state shop.json    versions and changes survive a restart
"""

import argparse
import sys

from mcp.server import MCPServer

from lapse.contract import Registry, Table, Violation
from lapse.server import Contract, Rejected
from lapse.server.mcp import ContractExtension
from lapse.server.run import run

CODES = {"growth": "SUMMER25", "scale": "PARTNER20"}


def shop(state: str | None = None) -> MCPServer:
    """The server: two tools over one table."""
    contract = Contract(Registry.of([Table("codes", CODES, version="1.0.0")]), state_file=state)
    seat = ContractExtension(contract)
    server = MCPServer("shop", extensions=[seat], subscriptions=seat.reloads, log_level="WARNING")
    seat.offer(server)

    @server.tool()
    def place(plan: str, code: str | None = None) -> str:
        """Place an order for a plan."""
        with contract.reading() as tables:
            wanted = tables["codes"].get(plan)
            if code != wanted:
                fix = tables.suggest("ADD_CODE", {"code": wanted}, when={"plan": plan})
                raise Rejected(
                    Violation(
                        policy="plan-code",
                        title="The plan needs another code",
                        detail="The code of the order is not the one on file for the plan",
                        suggestions=(fix,),
                    )
                )
        return f"placed {plan}"

    @server.tool()
    def rotate(plan: str, code: str) -> str:
        """For the operator: put another code on file for a plan."""
        rows = contract.registry.tables["codes"].rows
        return f"codes is at {contract.reload('codes', {**rows, plan: code}).new_version}"

    return server


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--http", type=int, metavar="PORT")
    arguments.add_argument("--state")
    wanted = arguments.parse_args()
    server = shop(wanted.state)
    if wanted.http is not None:
        run(
            server.streamable_http_app(),
            port=wanted.http,
            bound=lambda host, port: print(f"http://{host}:{port}/mcp", flush=True),
        )
    else:
        sys.exit(server.run())
