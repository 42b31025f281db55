"""The places of commands, skills, agents and output styles of a session, the strongest first.

The user's own place comes before those of the project. Files of a project that no one vouched for are text only.
"""

from __future__ import annotations

import os

from msgspec import Struct

from handrail.agent.session import Session
from handrail.files.resolve import real_path
from handrail.settings.git_folders import inside_git

__all__ = ["Source", "is_below", "sources"]


class Source(Struct, frozen=True):
    """One place, with folders such as `commands`. Nothing that leads out of `root` is read."""

    path: str
    scope: str
    trusted: bool = True
    root: str = ""

    def folder(self, name: str) -> str:
        """The folder of one kind; "" if it leads out of the root."""
        path = os.path.join(self.path, name)
        return path if not self.root or is_below(path, self.root) else ""


def sources(session: Session, *, again: bool = False) -> list[Source]:
    """The places of a session. `again`: check the trust of the folder again, because its files may have changed."""
    names = session.sources
    found = [Source(session.config_home, "user")] if "user" in names else []
    if "project" in names:
        trusted = session.vouched_for(again=again)
        folders = inside_git(session.cwd)
        places = {os.path.join(folder, ".claude"): folder for folder in folders}
        places.pop(session.config_home, None)
        found += [Source(path, "project", trusted, folders[-1]) for path in places]
    return found


def is_below(path: str, root: str) -> bool:
    """Whether a path lies in a folder after links are followed."""
    real, top = real_path(path), real_path(root)
    return real == top or real.startswith(os.path.join(top, ""))
