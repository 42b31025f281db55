"""Maps our session ids to those of ACP agents: both hosts and agents choose the ids of their sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from handrail.settings.private_file import PrivateFileError, read_private, state_folder, write_private

__all__ = ["StoredSession", "StoredSessions"]

FOLDER: Final = "acp-sessions"


class StoredSession(Struct, frozen=True):
    """A session: the agent's own id for it, its command and folder, its title, and what it has cost so far."""

    agent_session: str
    command: list[str]
    cwd: str
    title: str = ""
    cost: float = 0.0


class StoredSessions:
    """The sessions of one user, a file each."""

    def __init__(self, config_home: str) -> None:
        self._folder = state_folder(config_home) / FOLDER

    def get(self, id: str) -> StoredSession | None:
        """A session by our id; None if it is unknown, or if its file is invalid."""
        try:
            data = read_private(self._path(id)) if _is_name(id) else None
            return None if data is None else msgspec.json.decode(data, type=StoredSession)
        except (PrivateFileError, msgspec.MsgspecError):
            return None

    def put(self, id: str, session: StoredSession) -> None:
        """Store a session. Raises PrivateFileError."""
        write_private(self._path(id), msgspec.json.encode(session))

    def latest(self, command: list[str], cwd: str) -> str:
        """Our id of the newest session of an agent in a folder; "" without one."""
        try:
            files = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        except OSError:
            return ""
        for path in files:
            found = self.get(path.stem)
            if found is not None and (found.command, found.cwd) == (command, cwd):
                return path.stem
        return ""

    def _path(self, id: str) -> Path:
        return self._folder / f"{id}.json"


def _is_name(id: str) -> bool:
    """Whether an id can be the name of a file here; hosts choose ids."""
    return id.replace("-", "").replace("_", "").isalnum() and id.isascii() and len(id) <= 128
