"""The folders in which a session can start, and the CLI that runs it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from handrail.bridge.commands.router import Router
from handrail.bridge.session.launch import Cli
from handrail.bridge.web.http.route import RouteRequest, route

__all__ = ["FolderRoutes"]


class FoldersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`below`: a folder whose subfolders are wanted; empty for the roots."""

    below: Annotated[str, Meta(max_length=4096)] = ""


class FolderRoutes:
    """Lists folders."""

    def __init__(self, router: Router, cli: Cli) -> None:
        self._router, self._cli = router, cli

    @route("GET", "/api/folders", "prompt", query=FoldersQuery)
    async def folders(self, request: RouteRequest) -> dict[str, Any]:
        """The roots, most likely first, and the CLI; or the subfolders of `below`."""
        found = await self._router.folders(request.query.below)
        if request.query.below:
            return found
        cli = self._cli
        return {**found, "cli": {"kind": cli.kind, "version": cli.version, "model": cli.model}}
