"""The settings in force in a folder, read from all its files.

Each file is read once: the same bytes are hashed, compared with what the user accepted, and put in force.
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
    """The settings in force in a folder, the trust in it, and the files that both come from."""

    folder: str
    settings: Settings
    standing: Standing
    files: tuple[SettingsFile, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether the folder's own files count in full."""
        return self.standing.trusted

    @property
    def git_is_safe(self) -> bool:
        """Whether git can be run here unasked: in an untrusted folder, if its repository configures no programs."""
        contents = self.standing.contents
        return self.trusted or (contents.complete and all(item.kind != "git" for item in contents.items))

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for child processes. In an untrusted folder they stop git from running what its config names."""
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
    state_file: str | None = None,
    host_trusts: bool = False,
) -> Loaded:
    """Read and merge all settings files of a folder; faults are listed in `settings.problems`.

    `home`, `user_home`, `policy` and `state_file` replace the usual config home, home, policy folder and state file of
    the CLI. `flag` is the value of --settings. `host_trusts`: the host of the session vouches for the folder.
    """
    folder = os.path.realpath(folder)
    home = config_home() if home is None else home
    memory = LastGood(home) if last_good is None else last_good
    files = memory.fill(read_file(place) for place in places(folder, home, policy=policy, flag=flag))
    standing = standing_of(collect(folder, files), home, state_file=state_file, host_trusts=host_trusts)
    user_home = str(Path.home()) if user_home is None else user_home
    settings = merge(files, folder=folder, home=user_home, trusted=standing.trusted)
    return Loaded(folder, settings, standing, tuple(files))


def look(folder: str, home: str | None = None, *, state_file: str | None = None, host_trusts: bool = False) -> Standing:
    """The trust in a folder, without reading the settings of the user and of the organisation."""
    folder = os.path.realpath(folder)
    home = config_home() if home is None else home
    files = [read_file(place) for place in places(folder, home) if place.scope in PROJECT_SCOPES]
    return standing_of(collect(folder, files), home, state_file=state_file, host_trusts=host_trusts)
