"""The folders in which sessions may work: which ones, in which permission modes, and whether they are trusted.

Only in a trusted folder are its own settings, hooks and MCP servers in force.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.host import SessionHost
from handrail.files.errors import FileError, OutsideRoot
from handrail.files.open import Root
from handrail.files.private_names import is_private
from handrail.files.resolve import real_path
from handrail.settings import Standing, TrustError, accept, config_home, look

__all__ = ["Trust", "Workspace", "merged_folders"]

JsonObject = dict[str, Any]
MOST: Final = 1000
"""Folders in one answer."""


class Workspace:
    """The workspace of one machine. `lists_roots` is false on a gateway that runs no sessions itself."""

    def __init__(self, roots: Sequence[Path], *, allow_bypass: bool = False, lists_roots: bool = True) -> None:
        self.roots = tuple(roots)
        self._allow_bypass, self._lists_roots = allow_bypass, lists_roots

    def checked_folder(self, path: str) -> str:
        """The real path of an existing folder below a root. Raises CommandRefused for anything else."""
        if not os.path.isabs(path) or "\0" in path:
            raise CommandRefused("bad_folder", "the folder must be an absolute path")
        real = real_path(path)
        roots = [real_path(root) for root in self.roots]
        try:
            Root(real, within=roots).close()
        except OutsideRoot:
            allows = f"to allow it, start the server with --root {shlex.quote(path)}"
            problem = f"{path} is not below one of the server's roots; {allows}"
            raise CommandRefused("bad_folder", problem) from None
        except FileError:
            raise CommandRefused("bad_folder", f"{path} is not a folder; create it, or choose another") from None
        return real

    def check_mode(self, mode: str) -> None:
        """Raise CommandRefused if clients may not choose this permission mode."""
        if mode == "bypassPermissions" and not self._allow_bypass:
            raise CommandRefused("forbidden", "bypassPermissions is not enabled; start the server with --allow-bypass")

    async def folders(self, below: str) -> JsonObject:
        """The existing roots, or with `below` the folders inside one of them. Raises CommandRefused."""
        if below:
            return await asyncio.to_thread(_inside, self.checked_folder(below))
        roots = self.roots if self._lists_roots else ()
        return {"folders": [str(root) for root in roots if root.is_dir()]}


def merged_folders(found: Iterable[JsonObject | None]) -> JsonObject:
    """The answers of several machines as one; None means that a machine does not have the folder."""
    there = [one for one in found if one]
    if not there:
        raise CommandRefused("bad_folder", "no machine has this folder below one of its roots")
    folders = dict.fromkeys(folder for one in there for folder in one["folders"])
    merged = {**there[0], "folders": list(folders)[:MOST]}
    if "below" in merged:
        complete = all(one["complete"] for one in there) and len(folders) <= MOST
        merged |= {"folders": sorted(folders)[:MOST], "complete": complete}
    return merged


def _inside(folder: str) -> JsonObject:
    """The folders in a folder, without hidden ones, credentials and links."""
    try:
        with Root(folder) as root:
            found = root.entries(".", limit=5000, follow_links=False)
    except FileError:
        raise CommandRefused("forbidden", "this folder cannot be read") from None
    names = [
        one.name
        for one in found.entries
        if one.kind == "directory"
        and not one.name.startswith(".")
        and not is_private(os.path.join(folder, one.name), folder)
    ]
    shown = [name for name in names if name.isprintable()]  # a client could not send an undecodable name back
    return {
        "below": folder,
        "folders": [os.path.join(folder, name) for name in shown[:MOST]],
        "complete": found.complete and len(shown) <= MOST,
    }


class Trust:
    """Reads and accepts the trust of folders, for the user who runs the server."""

    def standing(self, folder: str) -> Standing:
        """The contents that the folder's files would run, and whether the user has accepted exactly these."""
        return look(folder, config_home())

    def question(self, folder: str) -> JsonObject | None:
        """The contents for a client to show before it accepts the folder; None if it is trusted."""
        standing = self.standing(folder)
        if standing.trusted:
            return None
        items = [
            {"kind": one.kind, "name": one.name, "text": one.text, "path": one.path, "line": one.line}
            for one in standing.contents.items
        ]
        return {"digest": standing.contents.digest, "items": items, "complete": standing.contents.complete}

    async def accept(self, host: SessionHost, digest: str) -> None:
        """Accept the files that were shown. An idle session restarts with them. Raises CommandRefused."""
        standing = self.standing(host.record.cwd)
        if standing.contents.digest != digest:
            raise CommandRefused("changed", "the folder's files have changed since they were shown; review them again")
        try:
            accept(standing.contents, config_home())
        except TrustError as error:
            raise CommandRefused("failed", str(error)) from None
        if host.state() == "idle":
            await host.stop()
        host.change(trusted=True)
