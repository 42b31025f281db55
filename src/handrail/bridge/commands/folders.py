"""Folders in which sessions may work, as this machine has them. In: a bridge, a folder. Out: names of folders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from handrail.bridge.commands.closed_names import is_closed
from handrail.bridge.errors import CommandRefused
from handrail.files.errors import FileError
from handrail.files.open import Root

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["folders_here", "folders_of_all"]

JsonObject = dict[str, Any]
MOST: Final = 1000


async def folders_here(bridge: Bridge, below: str) -> JsonObject:
    """Those below which sessions may work; or the folders in one of them. CommandRefused where it is none."""
    if below:
        return await asyncio.to_thread(_inside, bridge.checked_folder(below))
    cluster = bridge.configuration.cluster
    roots = bridge.configuration.roots if cluster is None or cluster.runs else ()
    return {"folders": [str(root) for root in roots if root.is_dir()]}


def folders_of_all(found: Iterable[JsonObject | None]) -> JsonObject:
    """What several machines have, as if it were one. Pure."""
    there = [one for one in found if one]
    if not there:
        raise CommandRefused("bad_folder", "no machine has this folder as one in which sessions may work")
    folders = dict.fromkeys(folder for one in there for folder in one["folders"])
    told = {**there[0], "folders": list(folders)[:MOST]}
    if "below" in told:
        complete = all(one["complete"] for one in there) and len(folders) <= MOST
        told |= {"folders": sorted(folders)[:MOST], "complete": complete}
    return told


def _inside(folder: str) -> JsonObject:
    """The folders in a folder. Hidden and closed ones are left out, and no link is followed."""
    try:
        with Root(folder) as root:
            found = root.entries(".", limit=5000, follow_links=False)
    except FileError:
        raise CommandRefused("forbidden", "this folder cannot be read") from None
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
