"""Writes the counts in Prometheus' text format, or OpenMetrics for a scraper that asks for it.

::

    Measured(app, contract, metrics, rendering=exposition)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.contract import is_name
from lapse.errors import MissingExtra
from lapse.server.exchange import header
from lapse.server.metrics import LABELS, Behaviour, Metrics
from lapse.server.metrics_seat import Measured

try:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "the metrics endpoint"
    raise MissingExtra(feature, "metrics") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from lapse.server.contract import Contract
    from lapse.server.exchange import ASGIApp, Scope

__all__ = ["exposition", "measured"]

_NAME_CHARACTERS: Final = 64

_HELP: Final = {
    "answers": "Answers by class of status.",
    "suggestions_given": "Suggestions in refusals.",
    "suggestions_followed": "Suggestions whose parameters the retry carried.",
    "suggestions_ignored": "Refusals of whose suggestions the retry carried none.",
    "fixes_reused": "Requests right at the first attempt by an earlier suggestion.",
    "mistakes_repeated": "Requests that made the mistake again of an earlier suggestion.",
    "requests_saved": "Reused fixes whose request was accepted: a refused request each, saved.",
    "evictions": "What clients were seen to do after tables moved under their fixes.",
    "questions": "Requests to the contract's endpoints.",
    "reloads": "Reloads by table.",
    "rows_changed": "Rows that reloads added, changed or removed.",
    "clients_forgotten": "Clients forgotten because others came.",
    "gateway_faults": "Faults found in refused requests, and whether the document has a cure.",
    "gateway_failures": "Exchanges that failed on the way to the upstream.",
}


def exposition(metrics: Metrics, accept: str) -> tuple[bytes, str]:
    """The counts as a scraper reads them, and their media type.

    Args:
        metrics: the counts.
        accept: the scraper's Accept header.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Counts(metrics))
    encode, kind = choose_encoder(accept)
    return encode(registry), kind


def measured(
    app: ASGIApp,
    contract: Contract,
    *,
    alias_tables: bool = False,
    client_header: str | None = None,
    operation_of: Callable[[Scope], str] | None = None,
) -> Measured:
    """An application with its counts beside it, at `{location}/metrics`.

    Args:
        app: the application, with the contract in it.
        contract: its contract.
        alias_tables: whether tables are shown as `table_1` and so on, as they are first reloaded.
        client_header: the request header in which clients name themselves; their counts are told
            apart by it, as many names as `Bounds.names` allows.
        operation_of: as `Measured`.
    """
    aliases: dict[str, str] = {}

    def alias(table: str) -> str:
        return aliases.setdefault(table, f"table_{len(aliases) + 1}")

    def name_of(scope: Scope) -> str | None:
        name = header(scope, (client_header or "").lower().encode())
        return name if name and is_name(name) and len(name) <= _NAME_CHARACTERS else None

    return Measured(
        app,
        contract,
        Metrics(contract, alias=alias if alias_tables else None),
        rendering=exposition,
        operation_of=operation_of,
        name_of=name_of if client_header else None,
    )


class _Counts(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        snapshot = self._metrics.snapshot()
        for metric, labels in LABELS.items():
            family = CounterMetricFamily(f"lapse_{metric}", _HELP[metric], labels=labels)
            for (name, values), count in sorted(snapshot.counts.items()):
                if name == metric:
                    family.add_metric(values, count)
            yield family
        clients = GaugeMetricFamily(
            "lapse_clients", "Clients known now, by what they do.", labels=("behaviour",)
        )
        for behaviour in Behaviour:
            clients.add_metric((behaviour.value,), snapshot.behaviours.get(behaviour, 0))
        yield clients
