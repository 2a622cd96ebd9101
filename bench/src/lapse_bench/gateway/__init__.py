"""A gateway in front of a service whose OpenAPI document drifts as a real one did.

The service validates requests against the rows of a history at a date. Its document is made of the
same rows, and given to the gateway whenever they have moved. An agent that keeps its first idea of
each request works through the history with the service bare, behind the gateway, and behind the
gateway with a memory.
"""

from lapse_bench.gateway.documents import document, prefixed
from lapse_bench.gateway.replay import Arm, Replayed, run_gateway
from lapse_bench.gateway.results import gateway_result, gateway_table

__all__ = [
    "Arm",
    "Replayed",
    "document",
    "gateway_result",
    "gateway_table",
    "prefixed",
    "run_gateway",
]
