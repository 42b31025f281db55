"""Trust in a folder as a whole, given in the CLI's own dialog or by the host of a session.

The CLI asks once per folder and stores the answer in its state file:

    {"projects": {"/home/me/work": {"hasTrustDialogAccepted": true}}}

In a git repository the answer is stored for its top and covers the whole repository, further worktrees included. Else
it covers the folder alone, and not those below. The file is only read, and only if a folder has something to be trusted
for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from handrail.settings.files import cli_state_file, config_home
from handrail.settings.git_folders import confirmed_top
from handrail.settings.private_file import PrivateFileError, read_private

__all__ = [
    "VARIABLE",
    "GivenBy",
    "accepted_in_cli",
    "external_imports_approved",
    "host_trusts_folder",
    "state_file_of",
]

GivenBy = Literal["", "cli", "host"]

VARIABLE: Final = "HANDRAIL_TRUST_FOLDER"
LIMIT: Final = 32 * 1024 * 1024
"""The CLI keeps prompts and caches in this file too, so it can be much larger than a settings file."""


class _Project(Struct):
    hasTrustDialogAccepted: Any = None  # noqa: N815 - the spelling of the file
    hasClaudeMdExternalIncludesApproved: Any = None  # noqa: N815 - the spelling of the file


class _State(Struct):
    projects: dict[str, _Project] = {}


def host_trusts_folder(environment: Mapping[str, str]) -> bool:
    """Whether the process that starts a session vouches for the folder with an environment variable."""
    return environment.get(VARIABLE, "").lower() in ("1", "true")


def state_file_of(home: str) -> str:
    """The CLI's state file that belongs to a config home.

    A config home other than this process's is taken to be a `$CLAUDE_CONFIG_DIR`, which holds the file itself.
    """
    return cli_state_file() if home == config_home() else cli_state_file({"CLAUDE_CONFIG_DIR": home})


def accepted_in_cli(folder: str, state_file: str) -> bool:
    """Whether the user accepted this folder, or its git repository, in the CLI. `folder` is a real path.

    Raises PrivateFileError for a file that cannot be read, that others could have written, or that lies in the folder
    itself: then the folder's author could have written it.
    """
    return _project(folder, state_file).hasTrustDialogAccepted is True


def external_imports_approved(folder: str, state_file: str) -> bool:
    """Whether the user approved in the CLI that memory files of this folder import files from outside of it.

    Raises PrivateFileError as `accepted_in_cli` does.
    """
    return _project(folder, state_file).hasClaudeMdExternalIncludesApproved is True


def _project(folder: str, state_file: str) -> _Project:
    path = os.path.realpath(state_file)
    if path.startswith(os.path.join(folder, "")):
        raise PrivateFileError(f"{state_file} lies inside of {folder}, so it does not count for that folder")
    data = read_private(Path(path), limit=LIMIT)
    if data is None:
        return _Project()
    try:
        projects = msgspec.json.decode(data, type=_State).projects
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PrivateFileError(f"{state_file}: {error}") from None
    return projects.get(confirmed_top(folder)) or _Project()
