"""Plugins: folders with commands, skills, agents, hooks and MCP servers, named with `--plugin-dir`.

Everything of a plugin is called `plugin:name`. A plugin with a path that leads out of its folder, or with anything that
cannot be read, is left out with the reason.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from handrail.agent.extensions.command import Command, commands_in, skills_in
from handrail.agent.extensions.sources import Source, is_below
from handrail.errors import CallerError
from handrail.files.errors import FileError, FileNotThere
from handrail.files.open import Root
from handrail.files.resolve import real_path
from handrail.settings.merge import HookEntry

__all__ = ["Plugin", "PluginProblem", "load_plugins"]

JsonObject = dict[str, Any]
MANIFEST: Final = ".claude-plugin/plugin.json"
LIMIT: Final = 1024 * 1024
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"
_KINDS: Final = ("commands", "agents", "skills", "hooks", "output-styles", ".mcp.json")


class PluginProblem(CallerError, ValueError):
    """A plugin cannot be used; the text says which and why."""


class Plugin(Struct, frozen=True):
    """One plugin. `folders` holds the folders of each kind of file, relative to `path`."""

    name: str
    path: str
    version: str = ""
    folders: Mapping[str, tuple[str, ...]] = {}
    hooks: tuple[HookEntry, ...] = ()
    servers: Mapping[str, JsonObject] = {}

    @property
    def place(self) -> Source:
        """The plugin as a place. It is trusted, because the host named it on the command line."""
        return Source(self.path, "plugin", root=self.path)

    def commands(self) -> Iterator[Command]:
        """The commands and skills of the plugin."""
        for folder in self.folders["commands"]:
            yield from commands_in(self.place, folder, prefix=f"{self.name}:")
        for folder in self.folders["skills"]:
            yield from skills_in(self.place, folder, prefix=f"{self.name}:")

    def paths(self, kind: str) -> list[str]:
        """The folders of one kind that lie in the plugin."""
        return [path for folder in self.folders[kind] if (path := self.place.folder(folder))]

    def line(self) -> JsonObject:
        """The entry of the init line."""
        version = {"version": self.version} if self.version else {}
        return {"name": self.name, "path": self.path, "source": f"{self.name}@inline", **version}


def load_plugins(folders: Sequence[str], cwd: str) -> tuple[list[Plugin], list[str]]:
    """Read plugins. Returns those that can be used, and one sentence about each of the others."""
    found: dict[str, Plugin] = {}
    problems: list[str] = []
    for folder in folders:
        path = real_path(os.path.join(cwd, os.path.expanduser(folder)))
        try:
            plugin = _read(path)
            if plugin.name in found:
                raise PluginProblem(f"there is another plugin {plugin.name} in {found[plugin.name].path}")
            found[plugin.name] = plugin
        except (PluginProblem, FileError, OSError) as error:
            problems.append(f"The plugin in {folder} was left out: {error}")
    return list(found.values()), problems


def _read(path: str) -> Plugin:
    if not os.path.isdir(path):
        raise PluginProblem("the folder does not exist")
    with Root(path) as root:
        manifest = _json(root, MANIFEST)
        if manifest is None and not any(os.path.exists(os.path.join(path, kind)) for kind in _KINDS):
            raise PluginProblem(f"{MANIFEST} is missing, and so is anything else that a plugin can hold")
        given = manifest or {"name": os.path.basename(path)}
        name = given.get("name")
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            raise PluginProblem(f"{MANIFEST}: name must be letters, digits, `.`, `_` and `-`")
        folders = {
            kind: tuple(_folders(given, key, kind, path))
            for kind, key in (("commands", "commands"), ("agents", "agents"), ("skills", "skills"), _STYLES)
        }
        return Plugin(
            name,
            path,
            str(given.get("version") or "")[:80],
            folders,
            tuple(_hooks(_either(root, given, "hooks", "hooks/hooks.json"), path)),
            _servers(_either(root, given, "mcpServers", ".mcp.json"), name, path),
        )


_STYLES: Final = ("output-styles", "outputStyles")


def _json(root: Root, path: str) -> JsonObject | None:
    """A JSON object of the plugin; None for a missing file."""
    try:
        value: Any = msgspec.json.decode(root.read(path, limit=LIMIT))
    except FileNotThere:
        return None
    except msgspec.DecodeError as error:
        raise PluginProblem(f"{path} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise PluginProblem(f"{path} must be a JSON object")
    return cast("JsonObject", value)


def _folders(given: JsonObject, key: str, usual: str, path: str) -> Iterable[str]:
    """The usual folder, and those that the manifest adds."""
    named = given.get(key)
    more = [named] if isinstance(named, str) else cast("list[Any]", named) if isinstance(named, list) else []
    for folder in (usual, *more):
        if not isinstance(folder, str) or "\0" in folder or not is_below(os.path.join(path, folder), path):
            raise PluginProblem(f"{key} names {str(folder)[:80]!r}, which is not in the plugin")
    return dict.fromkeys(os.path.normpath(str(folder)) for folder in (usual, *more))


def _either(root: Root, given: JsonObject, key: str, usual: str) -> JsonObject:
    """The object in the manifest, else the file it names, else the usual file."""
    value = given.get(key)
    if isinstance(value, dict):
        return {key: value}
    if value is not None and not isinstance(value, str):
        raise PluginProblem(f"{MANIFEST}: {key} must be an object or a path")
    found = _json(root, value or usual)
    if value and found is None:
        raise PluginProblem(f"{key} names {value[:80]!r}, which does not exist")
    return found or {}


def _hooks(given: JsonObject, path: str) -> Iterator[HookEntry]:
    """The hooks; each gets the plugin's folder in CLAUDE_PLUGIN_ROOT."""
    events: Any = given.get("hooks") or {}
    if not isinstance(events, dict):
        raise PluginProblem("hooks must be an object with the names of events")
    for event, groups in cast("JsonObject", events).items():
        for group in _objects(groups, f"hooks.{event}"):
            for hook in _objects(group.get("hooks"), f"hooks.{event}"):
                command = hook.get("command")
                if isinstance(command, str) and command.strip():
                    hook = {**hook, "command": f"export CLAUDE_PLUGIN_ROOT={shlex.quote(path)}\n{command}"}
                yield HookEntry(event, str(group.get("matcher") or ""), hook, "flagSettings", path)


def _objects(value: Any, where: str) -> list[JsonObject]:
    items = cast("list[Any]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(item, dict) for item in items):
        raise PluginProblem(f"{where} must be a list of objects")
    return cast("list[JsonObject]", items)


def _servers(given: JsonObject, name: str, path: str) -> dict[str, JsonObject]:
    """The MCP servers, as `plugin:NAME:server`."""
    servers = given.get("mcpServers", given)
    if not isinstance(servers, dict):
        raise PluginProblem("mcpServers must be an object of servers by name")
    found: dict[str, JsonObject] = {}
    for server, entry in cast("JsonObject", servers).items():
        if not isinstance(entry, dict):
            raise PluginProblem(f"mcpServers.{server[:80]} must be an object")
        config = cast("JsonObject", _rooted(entry, path))
        if "command" in config:
            config["env"] = {**cast("JsonObject", config.get("env") or {}), "CLAUDE_PLUGIN_ROOT": path}
        found[f"plugin:{name}:{server}"] = config
    return found


def _rooted(value: Any, path: str) -> Any:
    """Replace the variable by the plugin's folder. A path that begins with it must stay in the folder."""
    if isinstance(value, dict):
        return {key: _rooted(item, path) for key, item in cast("JsonObject", value).items()}
    if isinstance(value, list):
        return [_rooted(item, path) for item in cast("list[Any]", value)]
    if not isinstance(value, str) or _ROOT not in value:
        return value
    text = value.replace(_ROOT, path)
    if value.startswith(_ROOT) and ("\0" in text or not is_below(text, path)):
        raise PluginProblem(f"{value[:80]!r} leads out of the plugin")
    return text
