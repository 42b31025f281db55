"""For the operator of the server: health, usage, metrics, the audit log, the cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.router import Gauge, Router
from handrail.bridge.store.audit import Audit
from handrail.bridge.store.base import SessionIndex
from handrail.bridge.web.http.route import RouteRequest, route

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["Metrics", "OperationRoutes"]

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "WEBSOCKET"})


class Metrics:
    """Metrics in the Prometheus text format. It counts responses; `gauges` are read when the metrics are requested."""

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


class UsageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many days the rows go back."""

    days: Annotated[int, Meta(ge=1, le=3660)] = 30


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The number of rows."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100


class OperationRoutes:
    """Reports on the server."""

    def __init__(self, index: SessionIndex, router: Router, metrics: Metrics, audit: Audit) -> None:
        self._index, self._router, self._metrics, self._audit = index, router, metrics, audit

    @route("GET", "/api/health", None)
    async def health(self, request: RouteRequest) -> dict[str, Any]:
        """Whether the server is running."""
        return {"ok": True}

    @route("GET", "/api/usage", "view", query=UsageQuery)
    async def usage(self, request: RouteRequest) -> dict[str, Any]:
        """The cost of all sessions as the CLI reported it, their states, and usage by day."""
        rows = await self._router.usage(request.query.days)
        if not request.device.sees_paths:
            rows = [{**row, "project": os.path.basename(row["project"])} for row in rows]
        records = await self._index.list(limit=100_000)
        models: Counter[str] = Counter()
        for record in records:
            models[record.model or "unknown"] += record.cost  # type: ignore[assignment]
        return {
            "sessions": len(records),
            "cost_usd": sum(record.cost for record in records),
            "states": Counter(record.state for record in records),
            "models": [{"model": model, "cost_usd": cost} for model, cost in models.most_common()],
            "rows": rows,
        }

    @route("GET", "/metrics", "admin", gives="text/plain")
    async def metrics(self, request: RouteRequest) -> Response:
        """Figures for Prometheus."""
        text, kind = self._metrics.text()
        return Response(text, headers={"content-type": kind})

    @route("GET", "/api/audit", "admin", query=AuditQuery)
    async def audit(self, request: RouteRequest) -> dict[str, Any]:
        """The audit log, newest first."""
        return {"rows": await self._audit.list(request.query.limit)}

    @route("GET", "/api/cluster", "view")
    async def cluster(self, request: RouteRequest) -> dict[str, Any]:
        """The machines of the cluster, their load, how far each is behind, and the streams of NATS."""
        status = await self._router.status()
        if not request.device.sees_paths:
            status["nodes"] = [{**node, "roots": []} for node in status["nodes"]]
        return status
