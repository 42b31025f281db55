"""For whoever looks after the server: usage, metrics, the audit log."""

from __future__ import annotations

import os
from collections import Counter
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.store.audit import Audit
from handrail.bridge.store.usage import together
from handrail.bridge.web.http.route import Asked, route

__all__: list[str] = []


class UsageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many days back the rows go."""

    days: Annotated[int, Meta(ge=1, le=3660)] = 30


@route("GET", "/api/usage", "view", query=UsageQuery)
async def usage(asked: Asked) -> dict[str, Any]:
    """What sessions have cost so far, as the CLI told it, and how they stand; and what was used, day by day."""
    bridge, days = asked.bridge, asked.query.days
    if bridge.cluster is None:
        rows = await bridge.usage.rows(days)
    else:
        rows = together(one.answer or [] for one in await bridge.cluster.know("usage", days=days))
    if not asked.device.sees_paths:
        rows = [{**row, "project": os.path.basename(row["project"])} for row in rows]
    records = await bridge.sessions.index.list(limit=100_000)
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
async def metrics(asked: Asked) -> Response:
    """Figures for Prometheus."""
    text, kind = asked.app.metrics.text()
    return Response(text, headers={"content-type": kind})


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many rows."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100


@route("GET", "/api/audit", "admin", query=AuditQuery)
async def audit(asked: Asked) -> dict[str, Any]:
    """Who did what, newest first."""
    return {"rows": await Audit(asked.bridge.database).list(asked.query.limit)}
