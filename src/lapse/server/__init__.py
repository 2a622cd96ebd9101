"""The service's seat: what tells clients which rows moved.

::

    contract = Contract(registry, operator_token=token)
    app = ContractMiddleware(app, contract)          # headers on every response, and the endpoints

    with contract.reading() as tables:               # rows read here become stamps
        code = tables["active_csm_codes"].get(plan)
        ...
        raise Rejected(Violation(policy="…", title="…", detail="…", suggestions=(fix,)))

`lapse.server.fastapi` seats it in a FastAPI application; `lapse.server.declared` reads tables,
rules and policies from one file; `lapse.server.run` serves that.
"""

from lapse.server.application import application
from lapse.server.contract import Contract, Published, Rejected
from lapse.server.exchange import Answer, ASGIApp, Receive, Scope, Send
from lapse.server.middleware import ContractMiddleware
from lapse.server.signing import Signing

__all__ = [
    "ASGIApp",
    "Answer",
    "Contract",
    "ContractMiddleware",
    "Published",
    "Receive",
    "Rejected",
    "Scope",
    "Send",
    "Signing",
    "application",
]
