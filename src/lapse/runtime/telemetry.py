"""Tells OpenTelemetry what a memory does: metrics for each decision, spans for each operation.

::

    telemetry = Telemetry(store_id="fixes")
    memory.observe(telemetry)                        # writes, evictions, restamps, purges
    fixes = telemetry.fixes(memory, "POST /orders", request)      # a look-up, as a span

It speaks to the OpenTelemetry API alone: without an SDK in the program nothing is collected, and
nothing is sent by itself in any case. Names are the GenAI conventions' where those have one
(the spans of memory operations; their status is Development), and begin with ``lapse.`` elsewhere;
all of them stand in this file. Content is left out unless asked for: no request, no parameter, no
row and no issuer, which may be an address.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import MissingExtra

try:
    from opentelemetry import metrics, trace
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "telemetry"
    raise MissingExtra(feature, "otel") from None

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from lapse.contract import Fix
    from lapse.ledger import JsonObject
    from lapse.runtime.events import Event
    from lapse.runtime.memory import Memory

__all__ = ["Telemetry"]

SCOPE: Final = "lapse"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
STORE_ID: Final = "gen_ai.memory.store.id"
RECORD_ID: Final = "gen_ai.memory.record.id"
RECORD_COUNT: Final = "gen_ai.memory.record.count"
QUERY_TEXT: Final = "gen_ai.memory.query.text"
RECORDS: Final = "gen_ai.memory.records"

DECISIONS: Final = "lapse.memory.decisions"
SERVED: Final = "lapse.memory.fixes_served"
WHAT: Final = "lapse.decision"
REASON: Final = "lapse.reason"
VALIDITY: Final = "lapse.validity"
ISSUER: Final = "lapse.issuer"
SOURCE: Final = "lapse.source"

_OPERATIONS: Final[Mapping[str, str]] = {
    "stored": "create_memory",
    "confirmed": "update_memory",
    "superseded": "update_memory",
    "restamped": "update_memory",
    "suspended": "update_memory",
    "disputed": "update_memory",
    "reinstated": "update_memory",
    "evicted": "update_memory",
    "purged": "delete_memory",
}
"""An eviction writes a version and removes no content, so it is no deletion; a purge is."""

_VALIDITY: Final[Mapping[str, str]] = {
    "stored": "valid",
    "confirmed": "valid",
    "superseded": "valid",
    "restamped": "valid",
    "suspended": "unknown",
    "disputed": "unknown",
    "reinstated": "valid",
    "evicted": "lapsed",
}
"""What the conventions have no word for: whether what is remembered is still true."""


class Telemetry:
    """An observer of memories. Safe to use from any thread, and for several memories.

    Args:
        store_id: names the store; a path or a URL may say more than it should.
        capture_content: whether issuers, sources, requests and fixes go along. They may hold what
            a user typed, so the default is no.
        tracer_provider: the program's global one when None.
        meter_provider: the program's global one when None.
    """

    def __init__(
        self,
        *,
        store_id: str = "lapse",
        capture_content: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._store_id = store_id
        self._content = capture_content
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._decisions = meter.create_counter(
            DECISIONS, unit="{record}", description="Records that decisions concerned."
        )
        self._served = meter.create_counter(
            SERVED, unit="{record}", description="Fixes that were given out as valid."
        )

    def __call__(self, event: Event, /) -> None:
        """Take one event of a memory."""
        self._decisions.add(event.count, {WHAT: event.what, REASON: event.reason})
        operation = _OPERATIONS.get(event.what)
        if operation is None:
            return
        attributes = self._attributes(operation)
        attributes[RECORD_COUNT] = event.count
        attributes[REASON] = event.reason
        attributes[WHAT] = event.what
        if event.what in _VALIDITY:
            attributes[VALIDITY] = _VALIDITY[event.what]
        if event.record is not None:
            attributes[RECORD_ID] = event.record
        if self._content:
            attributes[ISSUER] = event.issuer
            if event.source is not None:
                attributes[SOURCE] = str(event.source)
        # The decision is carried out when it is told: the span has a place in time, and no length.
        self._tracer.start_span(
            f"{operation} {self._store_id}", kind=trace.SpanKind.INTERNAL, attributes=attributes
        ).end()

    def fixes(
        self,
        memory: Memory,
        operation: str,
        request: JsonObject | None = None,
        *,
        issuer: str | None = None,
    ) -> tuple[Fix, ...]:
        """`Memory.fixes`, as a span of its own.

        Args:
            memory: the memory.
            operation: as `Memory.fixes`.
            request: as `Memory.fixes`.
            issuer: as `Memory.fixes`.

        Raises:
            InvalidValue: as `Memory.fixes`.
            StoreError: as `Memory.fixes`.
        """
        name = f"search_memory {self._store_id}"
        with self._tracer.start_as_current_span(
            name, kind=trace.SpanKind.INTERNAL, attributes=self._attributes("search_memory")
        ) as span:
            found = memory.fixes(operation, request, issuer=issuer)
            span.set_attribute(RECORD_COUNT, len(found))
            if self._content:
                span.set_attribute(QUERY_TEXT, operation)
                said = [{"id": fix.id, "content": _worded(fix)} for fix in found]
                span.set_attribute(RECORDS, json.dumps(said, ensure_ascii=False))
        self._served.add(len(found))
        return found

    def _attributes(self, operation: str) -> dict[str, Any]:
        return {OPERATION: operation, PROVIDER: SCOPE, STORE_ID: self._store_id}


def _worded(fix: Fix) -> str:
    return json.dumps({"type": fix.type, "parameters": dict(fix.parameters)}, ensure_ascii=False)
