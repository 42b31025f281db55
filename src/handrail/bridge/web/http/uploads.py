"""Images that are sent with a message."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from handrail.bridge.store.uploads import LARGEST, Uploads
from handrail.bridge.web.http.route import RouteRequest, json_answer, route

__all__ = ["INERT", "UploadRoutes"]

INERT = {"content-security-policy": "sandbox; default-src 'none'", "content-disposition": "attachment"}
"""Headers for content that the server did not make: browsers download it and never run it as a page of ours."""


class UploadRoutes:
    """Stores and serves images."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads

    @route("POST", "/api/uploads", "prompt", takes="bytes", most_bytes=LARGEST)
    async def upload(self, request: RouteRequest) -> Response:
        """Keep an image for a day: png, jpeg, gif or webp, recognised by its content."""
        return json_answer({"id": await self._uploads.add(request.body)}, 201)

    @route("GET", "/api/uploads/{id}", "view", gives="image/*")
    async def image(self, request: RouteRequest) -> Response | dict[str, Any]:
        """The image."""
        kind, data = await self._uploads.get(request.parts["id"])
        return Response(data, media_type=kind, headers=INERT)
