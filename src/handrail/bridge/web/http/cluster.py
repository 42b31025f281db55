"""The machines of a cluster, for whoever looks after it."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.bridge.errors import CommandRefused
from handrail.bridge.web.http.route import Asked, route

__all__: list[str] = []


@route("GET", "/api/cluster", "view")
async def cluster(asked: Asked) -> dict[str, Any]:
    """The machines, what each runs and has room for, how far behind it is, and what NATS keeps."""
    cluster = asked.bridge.cluster
    if cluster is None:
        raise CommandRefused("not_found", "this server is alone: it was started without --cluster")
    told = msgspec.to_builtins(await cluster.status())
    if not asked.device.sees_paths:
        told["nodes"] = [{**node, "roots": []} for node in told["nodes"]]
    return told
