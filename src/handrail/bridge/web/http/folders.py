"""Where sessions may work and who answers there, for whoever starts one."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from handrail.bridge.commands.folders import folders_here, folders_of_all
from handrail.bridge.web.http.route import Asked, route

__all__: list[str] = []


class FoldersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`below`: a folder whose own folders are wanted; none is the beginning."""

    below: Annotated[str, Meta(max_length=4096)] = ""


@route("GET", "/api/folders", "prompt", query=FoldersQuery)
async def folders(asked: Asked) -> dict[str, Any]:
    """Folders below which sessions may work, the likeliest first, and who answers; or the folders in one of them."""
    bridge, below = asked.bridge, asked.query.below
    if bridge.cluster is None:
        found = await folders_here(bridge, below)
    else:
        found = folders_of_all([one.answer for one in await bridge.cluster.know("folders", below=below)])
    if below:
        return found
    cli = bridge.configuration.cli
    return {**found, "cli": {"kind": cli.kind, "version": cli.version, "model": cli.model}}
