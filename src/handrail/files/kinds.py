"""Kinds of files: plain files, folders, devices and so on, as `PathKind` or as a word for a listing."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from typing import Final

from handrail.files.libc import libc
from handrail.permissions.paths.matching import PathKind

__all__ = ["KIND_WORDS", "is_process_information", "kind_of"]

KIND_WORDS: Final[dict[str, str]] = {
    "directory": "a folder",
    "fifo": "a pipe",
    "device": "a device",
    "socket": "a socket",
    "proc": "part of /proc, which shows the secrets of processes",
    "link": "a link",
}
_KINDS: Final[dict[int, PathKind]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_PROC_MAGIC: Final = 0x9FA0
_LINUX: Final = sys.platform == "linux"


def kind_of(mode: int) -> PathKind:
    """The kind by the mode of a stat. A link is `other`, because it was not followed."""
    return _KINDS.get(stat.S_IFMT(mode), "other")


def is_process_information(place: int | str) -> bool:
    """Whether an open file, or the file at this path, is on a proc file system, wherever that is mounted."""
    if not _LINUX:
        return False
    # The first field of struct statfs is the type; the rest is never read, but must have room.
    room = (ctypes.c_long * 64)()
    if isinstance(place, int):
        failed = libc().fstatfs(ctypes.c_int(place), room)
    else:
        failed = libc().statfs(ctypes.c_char_p(os.fsencode(place)), room)
    return not failed and room[0] == _PROC_MAGIC
