"""The shop of the examples on FastMCP; a process of its own for tests. `--http PORT` or stdio."""

from __future__ import annotations

import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.middleware.caching import ResponseCachingMiddleware

from lapse.contract import Registry, Table, Violation
from lapse.server import Contract, Rejected
from lapse.server.fastmcp import install
from lapse.server.run import run

contract = Contract(
    Registry.of([Table("codes", {"growth": "SUMMER25", "scale": "PARTNER20"}, "1.0.0")])
)
app: FastMCP[Any] = FastMCP("shop")
app.add_middleware(ResponseCachingMiddleware())
install(app, contract)


@app.tool
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


@app.tool
def rotate(plan: str, code: str) -> str:
    """Put another code on file."""
    rows = contract.registry.tables["codes"].rows
    return str(contract.reload("codes", {**rows, plan: code}).new_version)


def told(host: str, port: int) -> None:
    """Say where it listens."""
    sys.stdout.write(f"http://{host}:{port}/mcp\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if "--http" in sys.argv:
        run(
            app.http_app(),
            port=int(sys.argv[-1]),
            bound=told,
        )
    else:
        app.run(show_banner=False)
