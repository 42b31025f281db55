"""Metrics of the server in the Prometheus text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from handrail.bridge.commands.router import Gauge

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["Metrics"]

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "WEBSOCKET"})


class Metrics:
    """Counts responses; `gauges` are read when the metrics are requested."""

    def __init__(self, gauges: Callable[[], Iterable[Gauge]]) -> None:
        self._gauges = gauges
        self._responses: Counter[tuple[str, str, str]] = Counter()

    def count(self, method: str, route: str, status: int) -> None:
        """Count a response. `route` is the path of a row, or "?", so the number of label values is bounded."""
        self._responses[method if method in _METHODS else "other", route, str(status)] += 1

    def text(self) -> tuple[bytes, str]:
        """The metrics, and their content type."""
        # Imported here because a server starts faster without it, and many are never scraped.
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self), CONTENT_TYPE_LATEST

    def collect(self) -> Iterable[Metric]:
        """All metric families; called by prometheus_client."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        labels = ("method", "route", "status")
        responses = CounterMetricFamily("handrail_requests", "Requests by route and status.", labels=labels)
        for values, count in self._responses.items():
            responses.add_metric(values, count)
        yield responses
        labelled: dict[str, GaugeMetricFamily] = {}
        for gauge in self._gauges():
            if not gauge.node:
                yield GaugeMetricFamily(gauge.name, gauge.description, gauge.value)
                continue
            if gauge.name not in labelled:
                labelled[gauge.name] = GaugeMetricFamily(gauge.name, gauge.description, labels=("node",))
            labelled[gauge.name].add_metric([gauge.node], gauge.value)
        yield from labelled.values()
