"""Where sessions may work and who answers there, for whoever starts one."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from handrail.bridge.closed_names import is_closed
from handrail.bridge.http.route import Asked, Refused, route
from handrail.files.errors import FileError
from handrail.files.open import Root

__all__: list[str] = []

MOST: Final = 1000


class FoldersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`below`: a folder whose own folders are wanted; none is the beginning."""

    below: Annotated[str, Meta(max_length=4096)] = ""


@route("GET", "/api/folders", "prompt", query=FoldersQuery)
async def folders(asked: Asked) -> dict[str, Any]:
    """Folders below which sessions may work, the likeliest first, and who answers; or the folders in one of them."""
    if below := asked.query.below:
        return await asyncio.to_thread(_inside, asked.bridge.checked_folder(below))
    cli = asked.bridge.configuration.cli
    return {
        "folders": [str(root) for root in asked.bridge.configuration.roots if root.is_dir()],
        "cli": {"kind": cli.kind, "version": cli.version, "model": cli.model},
    }


def _inside(folder: str) -> dict[str, Any]:
    """The folders in a folder. Hidden and closed ones are left out, and no link is followed."""
    try:
        with Root(folder) as root:
            found = root.entries(".", limit=5000, follow_links=False)
    except FileError:
        raise Refused(403, "forbidden", "this folder cannot be read") from None
    names = [
        one.name
        for one in found.entries
        if one.kind == "directory" and not one.name.startswith(".") and not is_closed(one.name)
    ]
    shown = [name for name in names if name.isprintable()]  # one that is no text cannot be named by a client
    return {
        "below": folder,
        "folders": [os.path.join(folder, name) for name in shown[:MOST]],
        "complete": found.complete and len(shown) <= MOST,
    }
