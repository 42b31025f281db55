"""Changes that a command makes to the disk before its later parts run.

A decision sees the disk as it is now. A folder that an earlier part moves may hold links, so that a path below its new
place leads elsewhere; a folder that it copies may be a git repository.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.bash.candidates import candidates
from handrail.permissions.circumstances import World
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.paths.names import is_below, squash
from handrail.permissions.programs.description import Parsed
from handrail.permissions.programs.files import files_of
from handrail.permissions.programs.read_only import describe
from handrail.permissions.programs.wrappers import base_name
from handrail.permissions.shell.commands import Command
from handrail.permissions.shell.reading import Notes

__all__ = ["Changes"]

_MOVERS: Final = frozenset({"mv", "cp", "ln"})
_UNPACKERS: Final = frozenset("tar gtar bsdtar unzip 7z cpio rsync patch ar jar wget".split())
_CHECKOUTS: Final = frozenset(
    "checkout switch restore reset pull merge rebase stash clone apply am revert cherry-pick submodule worktree".split()
)
_KEEPS_LINKS: Final = re.compile(r"-[a-zA-Z]*[adPrRsl]|--(?:arch|rec|no-d|pres|sym|link)")


def _is_checkout(command: Command) -> bool:
    """Whether git puts files into the working folder."""
    return base_name(command.words[0]) == "git" and any(word.text in _CHECKOUTS for word in command.words[1:])


class Changes:
    """The places that the parts of a command seen so far have changed."""

    def __init__(self, anchors: Anchors, world: World) -> None:
        self.anchors, self.world = anchors, world
        self.unknown = False
        """A program put files from elsewhere into the working folders, among them perhaps links."""
        self._places: dict[str, bool] = {}
        """Each with whether it may lead away, through a link."""

    def note(self, command: Command, notes: Notes) -> None:
        """Remember what a command changes."""
        if not command.words or isinstance(describe(command.words), Parsed):
            return
        name = base_name(command.words[0])
        if name not in _MOVERS:
            self.unknown = self.unknown or name in _UNPACKERS or _is_checkout(command)
            return
        if name == "cp" and not any(_KEEPS_LINKS.match(word.text) for word in command.words[1:]):
            return
        touches = files_of(command.words)
        paths = {touch: candidates(touch.word, command.folders, self.anchors, notes) for touch in touches}
        sources = [item for touch in touches if touch.access != "write" for item in paths[touch]]
        plain = all(not item.open and not item.glob and self._is_plain(item.path) for item in sources)
        for item in (item for touch in touches if touch.access == "write" for item in paths[touch]):
            place = squash(item.path)
            self._places[place] = self._places.get(place, False) or name == "ln" or not plain

    def _is_plain(self, path: str) -> bool:
        """Whether neither this path nor anything below it is a link."""
        found = self.world.resolve(path)
        return not found.via and (found.kind == "file" or (found.kind == "directory" and self.world.is_plain(path)))

    def touches(self, path: str) -> bool:
        """Whether a path is at or below a changed place, or above one."""
        path = squash(path)
        return any(is_below(path, place) or is_below(place, path) for place in self._places)

    def may_lead_away(self, path: str) -> bool:
        """Whether a path is below a place where a link may be now."""
        return any(leads and is_below(squash(path), place) for place, leads in self._places.items())
