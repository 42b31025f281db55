"""Figures about the server. In: what it answered, and how it stands. Out: the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from handrail.bridge.app import App

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The figures of one server, in a registry of their own."""

    def __init__(self, app: App) -> None:
        self._registry = CollectorRegistry()
        self._answered = Counter(
            "handrail_requests", "Requests by route and status.", ("method", "route", "status"), registry=self._registry
        )
        self._registry.register(_Now(app))

    def answered(self, method: str, route: str, status: int) -> None:
        """Count one. `route` is a row of the table, so there are only so many."""
        method = method if method in _METHODS else "other"
        self._answered.labels(method, route, str(status)).inc()

    def text(self) -> bytes:
        """All figures."""
        return generate_latest(self._registry)


_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "WEBSOCKET"})


class _Now(Collector):
    """How the server stands when it is asked."""

    def __init__(self, app: App) -> None:
        self._app = app

    def collect(self) -> Iterable[Metric]:
        bridge = self._app.bridge
        yield GaugeMetricFamily("handrail_sockets", "Open sockets.", len(self._app.sockets))
        yield GaugeMetricFamily("handrail_devices", "Devices that may come in.", len(bridge.access.devices()))
        yield GaugeMetricFamily("handrail_processes", "Sessions with a process.", len(bridge.sessions.running))
