"""Where people keep commands, skills, agents and output styles. In: a session. Out: its folders, the strongest first.

The user's own come before those of the project, and a project's count in full only while the user trusts the folder.
"""

from __future__ import annotations

import os
from typing import Final

from msgspec import Struct

from handrail.agent.session import Session
from handrail.settings.git_folders import inside_git
from handrail.settings.load import look

__all__ = ["Source", "is_below", "sources"]

_USER: Final = "user"
_PROJECT: Final = frozenset({"project", "local"})


class Source(Struct, frozen=True):
    """One place, with what it holds in folders such as `commands`. Nothing that leads out of `root` is read."""

    path: str
    scope: str
    trusted: bool = True
    root: str = ""

    def folder(self, name: str) -> str:
        """The folder of one kind; "" where it leads elsewhere."""
        path = os.path.join(self.path, name)
        return path if not self.root or is_below(path, self.root) else ""


def sources(session: Session, *, again: bool = False) -> list[Source]:
    """The places of a session. `again`: files may have changed, so whether the folder is trusted is asked anew."""
    wanted = session.arguments.setting_sources
    names = {name.strip() for name in wanted.split(",")} if wanted is not None else {_USER, *_PROJECT}
    found = [Source(session.config_home, _USER)] if _USER in names else []
    if names & _PROJECT:
        trusted = session.loaded.trusted and (not again or look(session.cwd, session.config_home).trusted)
        folders = inside_git(session.cwd)
        places = {os.path.join(folder, ".claude"): folder for folder in folders}
        places.pop(session.config_home, None)
        found += [Source(path, "project", trusted, folders[-1]) for path in places]
    return found


def is_below(path: str, root: str) -> bool:
    """Does it lie there, links followed?"""
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == top or real.startswith(os.path.join(top, ""))
