"""Where sessions may work, for whoever starts one."""

from __future__ import annotations

from typing import Any

from handrail.bridge.http.route import Asked, route

__all__: list[str] = []


@route("GET", "/api/folders", "prompt")
async def folders(asked: Asked) -> dict[str, Any]:
    """Folders below which sessions may work, the likeliest first."""
    return {"folders": [str(root) for root in asked.bridge.configuration.roots if root.is_dir()]}
