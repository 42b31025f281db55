"""The folders in which sessions may work, and the permission modes that clients may choose."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from handrail.bridge.errors import CommandRefused
from handrail.files.errors import FileError
from handrail.files.open import Root
from handrail.permissions.path_names import bare_name

__all__ = ["Workspace", "is_private", "merged_folders"]

JsonObject = dict[str, Any]
MOST: Final = 1000
"""Folders in one answer."""
PRIVATE: Final = frozenset(
    ".ssh .gnupg .aws .kube .handrail .netrc .git-credentials .pypirc .npmrc .claude.json .credentials.json".split()
)
"""Names of files and folders that clients never see: keys and credentials."""


def is_private(path: str) -> bool:
    """Whether any component of the path is a private name."""
    return any(bare_name(name) in PRIVATE for name in path.split("/"))


class Workspace:
    """The workspace of one machine. `lists_roots` is false on a gateway that runs no sessions itself."""

    def __init__(self, roots: Sequence[Path], *, allow_bypass: bool = False, lists_roots: bool = True) -> None:
        self.roots = tuple(roots)
        self._allow_bypass, self._lists_roots = allow_bypass, lists_roots

    def checked_folder(self, path: str) -> str:
        """The real path of an existing folder below a root. Raises CommandRefused for anything else."""
        if not os.path.isabs(path) or "\0" in path:
            raise CommandRefused("bad_folder", "the folder must be an absolute path")
        real = os.path.realpath(path)
        roots = [os.path.realpath(root) for root in self.roots]
        if not any(os.path.commonpath([real, root]) == root for root in roots) or not os.path.isdir(real):
            raise CommandRefused("bad_folder", f"{path} is not a folder below one of the server's roots (--root)")
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
        if one.kind == "directory" and not one.name.startswith(".") and not is_private(one.name)
    ]
    shown = [name for name in names if name.isprintable()]  # a client could not send an undecodable name back
    return {
        "below": folder,
        "folders": [os.path.join(folder, name) for name in shown[:MOST]],
        "complete": found.complete and len(shown) <= MOST,
    }
