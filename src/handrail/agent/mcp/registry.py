"""The MCP servers that people add with `mcp add`, where the CLI keeps them.

    user     the user's `.claude.json`, `mcpServers`
    local    the user's `.claude.json`, `projects.FOLDER.mcpServers`: only this user, only in this folder
    project  FOLDER/.mcp.json, which the folder's repository can share

`.claude.json` is in $CLAUDE_CONFIG_DIR, else in the home folder. Its other content is kept as it is.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal, cast

from handrail.agent.errors import Refused
from handrail.files.resolve import real_path
from handrail.settings.files import cli_state_file
from handrail.settings.git_folders import inside_git

__all__ = ["SCOPES", "Registry", "Scope"]

JsonObject = dict[str, Any]
Scope = Literal["local", "project", "user"]
SCOPES: Final[tuple[Scope, ...]] = ("local", "project", "user")
"""The strongest first: of servers with one name, the first counts."""
LARGEST: Final = 64 * 1024 * 1024
_SERVERS: Final = "mcpServers"


class Registry:
    """The servers of one folder, by scope."""

    def __init__(self, environment: Mapping[str, str], cwd: str) -> None:
        self.cwd = real_path(cwd)
        self.folder = inside_git(self.cwd)[-1]
        """The folder that local servers belong to: the top of the repository."""
        self._user_file = cli_state_file(environment)

    def path(self, scope: Scope) -> str:
        """The file of a scope."""
        return os.path.join(self.cwd, ".mcp.json") if scope == "project" else self._user_file

    def servers(self, scope: Scope) -> dict[str, JsonObject]:
        """The servers of a scope by name. Entries that are not objects are left out. Raises Refused."""
        place: Any = _read(self.path(scope))
        for key in self._keys(scope):
            place = cast("JsonObject", place).get(key) if isinstance(place, dict) else None
        found = cast("JsonObject", place) if isinstance(place, dict) else {}
        return {name: cast("JsonObject", entry) for name, entry in found.items() if isinstance(entry, dict)}

    def add(self, scope: Scope, name: str, entry: JsonObject) -> None:
        """Write a new server. Raises Refused if there is one with this name."""

        def change(servers: JsonObject) -> None:
            if name in servers:
                raise Refused(f"MCP server {name} already exists in {scope} config")
            servers[name] = entry

        self._change(scope, change)

    def remove(self, scope: Scope, name: str) -> None:
        """Remove a server. Raises Refused if the name is unknown."""

        def change(servers: JsonObject) -> None:
            if servers.pop(name, None) is None:
                raise Refused(f"No {scope}-scoped MCP server found with name: {name}")

        self._change(scope, change)

    def _keys(self, scope: Scope) -> tuple[str, ...]:
        return ("projects", self.folder, _SERVERS) if scope == "local" else (_SERVERS,)

    def _change(self, scope: Scope, change: Callable[[JsonObject], None]) -> None:
        """Change the servers of a scope. The file is complete before and after, and one writer changes it at a time."""
        path = self.path(scope)
        if scope == "project" and os.path.islink(path):  # a repository could point it at any file of the user
            raise Refused(f"Error: {path} is a symbolic link; edit the file it leads to")
        path = real_path(path)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with _locked(os.path.dirname(path)):
                content = _read(path)
                place: JsonObject = content
                for key in self._keys(scope):
                    below = place.setdefault(key, {})
                    if not isinstance(below, dict):
                        raise Refused(f"Error: {path}: {key} must be an object")
                    place = cast("JsonObject", below)
                change(place)
                _write(path, content)
        except OSError as error:
            raise Refused(f"Error: cannot write {path}: {error.strerror}") from None


def _read(path: str) -> JsonObject:
    """The object in a file; empty without a file."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Refused(f"Error: cannot read {path}: {error.strerror}") from None
    try:
        value: Any = json.loads(data) if len(data) <= LARGEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused(f"Error: {path} is not a JSON object; correct it first")
    return cast("JsonObject", value)


@contextmanager
def _locked(folder: str) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(path: str, content: JsonObject) -> None:
    mode = 0o600
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode & 0o777
    fresh = f"{path}.handrail-{os.getpid()}"
    try:
        with open(fresh, "x", encoding="utf-8", opener=_private) as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        os.replace(fresh, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh)
