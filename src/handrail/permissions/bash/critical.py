"""Detects commands that would destroy the root, the home folder, the system or the working folder."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from handrail.permissions.bash.candidates import Candidate, candidates
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.paths.names import is_below, squash
from handrail.permissions.programs.files import Touch, files_of
from handrail.permissions.programs.wrappers import base_name
from handrail.permissions.shell.commands import Command
from handrail.permissions.shell.reading import Notes
from handrail.permissions.shell.words import HOLE

__all__ = ["critical"]

_DISKS: Final = re.compile(r"mkfs(\..*)?|mkswap|wipefs|fdisk|sfdisk|cfdisk|parted|blkdiscard|hdparm|diskutil")
_SYSTEM: Final = frozenset(
    "bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv sys usr var Applications Library System"
    " Users Volumes private cores".split()
)
_EVERYTHING: Final = re.compile(r"\.?\*+|\{?\*.*,.*|\.\[!?\.\]\*|\?\*")
_RECURSIVE: Final = re.compile(r"-[A-Za-z]*R|--recursive")
_WHOLE: Final = frozenset({"chmod", "chown", "chgrp"})


def critical(command: Command, anchors: Anchors, notes: Notes) -> str:
    """Why a command could take everything away: the root, the home, the system, the working folder."""
    if not command.words:
        return ""
    name = base_name(command.words[0])
    if _DISKS.fullmatch(name):
        return f"{name} can empty a whole disk"
    recursive = name in _WHOLE and any(_RECURSIVE.match(word.text) for word in command.words[1:])
    for touch in files_of(command.words):
        if touch.access == "remove" or recursive:
            for candidate in _places(touch, command, anchors, notes):
                if _is_vital(candidate, anchors):
                    return f"{name} would act on {candidate.path or '/'} as a whole"
    return ""


def _places(touch: Touch, command: Command, anchors: Anchors, notes: Notes) -> list[Candidate]:
    """Where a removal may strike: also where a variable turns out to be empty."""
    word = replace(touch.word, values=None)
    found = [item for item in candidates(word, command.folders, anchors, notes) if not item.open or item.glob]
    if HOLE in word.text and (bare := word.text.replace(HOLE, "")):
        found += candidates(replace(word, text=bare, names=(), values=None), command.folders, anchors, notes)
    return found


def _is_vital(candidate: Candidate, anchors: Anchors) -> bool:
    path = squash(candidate.path)
    if candidate.glob and not _EVERYTHING.fullmatch(candidate.glob):
        return False
    names = path.strip("/").split("/")
    top = path == "/" or (len(names) == 1 and names[0] in _SYSTEM)
    kept = (anchors.home, anchors.real_home, anchors.cwd, anchors.real_cwd, anchors.project, anchors.real_project)
    return top or any(is_below(squash(folder), path) for folder in kept if folder)
