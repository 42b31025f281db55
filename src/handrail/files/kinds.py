"""Kinds of files: plain files, folders, devices and so on, as `PathKind` or as a word for a listing."""

from __future__ import annotations

import stat
from typing import Final

from handrail.permissions.paths.matching import PathKind
from handrail.platform import file_system_type

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


def kind_of(mode: int) -> PathKind:
    """The kind by the mode of a stat. A link is `other`, because it was not followed."""
    return _KINDS.get(stat.S_IFMT(mode), "other")


def is_process_information(place: int | str) -> bool:
    """Whether an open file, or the file at this path, is on a proc file system, wherever that is mounted."""
    return file_system_type(place) == _PROC_MAGIC
