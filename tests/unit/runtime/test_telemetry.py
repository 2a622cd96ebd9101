"""Telemetry, as a program's own OpenTelemetry SDK sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import lapse
from lapse.runtime.telemetry import Telemetry
from lapse.testing.service import ScriptedService
from lapse.transports.http import Transport


@dataclass
class Program:
    """A program with an SDK, whose memory tells what it does."""

    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)

    def telemetry(self, **options: Any) -> Telemetry:
        tracing = TracerProvider()
        tracing.add_span_processor(SimpleSpanProcessor(self.spans))
        metering = MeterProvider(metric_readers=[self.reader])
        return Telemetry(tracer_provider=tracing, meter_provider=metering, **options)

    def live(self, telemetry: Telemetry) -> None:
        """Learn two fixes, see one go and the other stay, look, and purge what is left."""
        service = ScriptedService({"codes": {"a": "SUMMER", "b": "PARTNER"}})
        with lapse.open("memory:", observers=[telemetry]) as memory:
            client = httpx2.Client(transport=Transport(memory, service), base_url="http://s")
            for key in "ab":
                client.post(f"/fix/codes/{key}", json={"key": key})
            service.reload("codes", {"a": "WINTER", "b": "PARTNER"})
            client.post("/fix/codes/b", json={"key": "b", "value": "PARTNER"})
            telemetry.fixes(memory, "POST /fix/codes/b", {"key": "b"})
            memory.purge([record.id for record in memory.records()])

    def points(self, metric: str) -> dict[tuple[str, ...], int | float]:
        data = self.reader.get_metrics_data()
        assert data is not None
        found: dict[tuple[str, ...], int | float] = {}
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for one in scope.metrics:
                    if one.name == metric:
                        for point in one.data.data_points:
                            assert isinstance(point, NumberDataPoint)
                            values = sorted((point.attributes or {}).items())
                            found[tuple(str(value) for _, value in values)] = point.value
        return found


def test_each_decision_is_counted_by_what_and_why() -> None:
    program = Program()
    program.live(program.telemetry())
    decisions = program.points("lapse.memory.decisions")
    assert {key: count for key, count in decisions.items() if key[0] != "suspended"} == {
        ("stored", "learned"): 2,
        ("evicted", "row_moved"): 1,
        ("restamped", "row_unchanged"): 1,
        ("purged", "asked"): 1,
    }
    assert program.points("lapse.memory.fixes_served") == {(): 1}


def test_spans_carry_the_conventions_names_and_say_what_still_holds() -> None:
    program = Program()
    program.live(program.telemetry(store_id="fixes"))
    told = [
        (span.name, (span.attributes or {}).get("lapse.validity"))
        for span in program.spans.get_finished_spans()
        if (span.attributes or {}).get("lapse.decision") != "suspended"
    ]
    assert told == [
        ("create_memory fixes", "valid"),
        ("create_memory fixes", "valid"),
        ("update_memory fixes", "lapsed"),
        ("update_memory fixes", "valid"),
        ("search_memory fixes", None),
        ("delete_memory fixes", None),
    ]
    spans = program.spans.get_finished_spans()
    (search,) = [span for span in spans if span.name == "search_memory fixes"]
    assert dict(search.attributes or {}) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "lapse",
        "gen_ai.memory.store.id": "fixes",
        "gen_ai.memory.record.count": 1,
    }


@pytest.mark.parametrize("captured", [False, True])
def test_content_is_told_only_when_asked_for(captured: bool) -> None:  # noqa: FBT001 - a case
    program = Program()
    program.live(program.telemetry(capture_content=captured))
    said = json.dumps([dict(s.attributes or {}) for s in program.spans.get_finished_spans()])
    assert [word in said for word in ("PARTNER", "http://s", "codes")] == [captured] * 3


def test_without_an_sdk_nothing_happens_and_nothing_breaks() -> None:
    Program().live(Telemetry())
