"""Figures about the server. In: what it answered, and how it stands. Out: the text that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from handrail.bridge.cluster.cluster import Cluster
    from handrail.bridge.web.app import App

__all__ = ["Metrics"]

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "WEBSOCKET"})


class Metrics:
    """The figures of one server."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._answered: Counter[tuple[str, str, str]] = Counter()

    def answered(self, method: str, route: str, status: int) -> None:
        """Count one. `route` is a row of the table, so there are only so many."""
        self._answered[method if method in _METHODS else "other", route, str(status)] += 1

    def text(self) -> tuple[bytes, str]:
        """All figures. Out: the text, and what type it is of."""
        # A server starts without this package: it is needed later, or never.
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self), CONTENT_TYPE_LATEST

    def collect(self) -> Iterable[Metric]:
        """What was answered so far, and how the server stands now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        bridge = self._app.bridge
        labels = ("method", "route", "status")
        answered = CounterMetricFamily("handrail_requests", "Requests by route and status.", labels=labels)
        for values, count in self._answered.items():
            answered.add_metric(values, count)
        yield answered
        yield GaugeMetricFamily("handrail_sockets", "Open sockets.", len(self._app.sockets))
        yield GaugeMetricFamily("handrail_devices", "Devices that may come in.", len(bridge.access.devices()))
        yield GaugeMetricFamily("handrail_processes", "Sessions with a process.", len(bridge.sessions.running))
        if bridge.cluster is not None:
            yield from _of_cluster(bridge.cluster)


def _of_cluster(cluster: Cluster) -> Iterable[Metric]:
    """What this machine knows of the others, and how far NATS is behind it."""
    from prometheus_client.core import GaugeMetricFamily

    up, behind = int(cluster.link.is_up), cluster.outbox.behind
    yield GaugeMetricFamily("handrail_cluster_up", "NATS answers.", up)
    yield GaugeMetricFamily("handrail_cluster_lease", "This machine's lease holds.", int(cluster.membership.valid))
    yield GaugeMetricFamily("handrail_cluster_held", "Sessions that are this machine's.", len(cluster.ownership.held))
    yield GaugeMetricFamily("handrail_cluster_behind_events", "Events that NATS has not yet.", behind.events)
    yield GaugeMetricFamily("handrail_cluster_behind_bytes", "Bytes that NATS has not yet.", behind.size)
    yield GaugeMetricFamily("handrail_cluster_alarms", "Things that need somebody.", len(cluster.outbox.alarms))
    sessions = GaugeMetricFamily("handrail_cluster_sessions", "Sessions with a process, by machine.", labels=("node",))
    for node in cluster.nodes():
        sessions.add_metric([node.name], node.sessions)
    yield sessions
