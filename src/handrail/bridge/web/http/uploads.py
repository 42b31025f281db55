"""Pictures that are sent with a message."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from handrail.bridge.store.uploads import LARGEST
from handrail.bridge.web.http.route import Asked, json_answer, route

__all__ = ["INERT"]

INERT = {"content-security-policy": "sandbox; default-src 'none'", "content-disposition": "attachment"}
"""What somebody else made is never shown as a page of ours."""


@route("POST", "/api/uploads", "prompt", takes="bytes", most_bytes=LARGEST)
async def upload(asked: Asked) -> Response:
    """Keep a picture for a day: png, jpeg, gif or webp by its content."""
    return json_answer({"id": await asked.bridge.uploads.add(asked.body)}, 201)


@route("GET", "/api/uploads/{id}", "view", gives="image/*")
async def picture(asked: Asked) -> Response | dict[str, Any]:
    """The picture."""
    kind, data = await asked.bridge.uploads.get(asked.parts["id"])
    return Response(data, media_type=kind, headers=INERT)
