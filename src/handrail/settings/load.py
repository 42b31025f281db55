"""The settings of a folder, from the files to what is in force. In: a folder and the homes. Out: `Loaded`.

Each file is read once; what is hashed, compared with what the user accepted and put in force are the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from handrail.settings.files import SettingsFile, config_home, places, read_file
from handrail.settings.git_config import git_guard
from handrail.settings.last_good import LastGood
from handrail.settings.merge import PROJECT_SCOPES, Settings, merge
from handrail.settings.project import collect
from handrail.settings.trust import Standing, standing_of

__all__ = ["Loaded", "load", "look"]


class Loaded(msgspec.Struct, frozen=True):
    """What is in force in a folder, how the folder stands, and the files both come from."""

    folder: str
    settings: Settings
    standing: Standing
    files: tuple[SettingsFile, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether the folder's own files count in full."""
        return self.standing.trusted

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for what runs here. In an untrusted folder they keep git from running what its config names."""
        contents = self.standing.contents
        has_hooks = any(item.kind == "git" and item.name.startswith("hooks/") for item in contents.items)
        guard = git_guard(contents.git, has_hooks=has_hooks)
        return self.settings.env if self.trusted else {**self.settings.env, **guard}


def load(
    folder: str,
    *,
    home: str | None = None,
    user_home: str | None = None,
    policy: str | None = None,
    flag: str | None = None,
    last_good: LastGood | None = None,
) -> Loaded:
    """Read and merge everything. In: the folder; the config home, the user's home and the policy folder where they are
    not the usual ones; what --settings said; a memory to use again. Out: problems are told in `settings.problems`."""
    folder = os.path.realpath(folder)
    home = config_home() if home is None else home
    memory = LastGood(home) if last_good is None else last_good
    files = memory.fill(read_file(place) for place in places(folder, home, policy=policy, flag=flag))
    standing = standing_of(collect(folder, files), home)
    user_home = str(Path.home()) if user_home is None else user_home
    settings = merge(files, folder=folder, home=user_home, trusted=standing.trusted)
    return Loaded(folder, settings, standing, tuple(files))


def look(folder: str, home: str | None = None) -> Standing:
    """How a folder stands, without the settings of the user and of the organisation."""
    folder = os.path.realpath(folder)
    home = config_home() if home is None else home
    files = [read_file(place) for place in places(folder, home) if place.scope in PROJECT_SCOPES]
    return standing_of(collect(folder, files), home)
