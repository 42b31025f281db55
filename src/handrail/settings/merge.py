"""Merges the settings files of all scopes into the `Settings` in force.

Policy wins over flag, flag over local, local over project, project over user; lists are joined, objects merged key by
key. A project's own files, the local one included, count in full only in a trusted folder. In any other folder they
can restrict (deny and ask rules, a stricter mode) and choose a model, an output style and the like, because none of
that runs a program or widens a permission. A mode that asks for nothing never comes from a project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from handrail.permissions.rules.rule import Behavior, Scope, SourcedRule, read_rules
from handrail.permissions.updates.apply import MODES
from handrail.settings.files import Problem, SettingsFile

__all__ = [
    "HARMLESS",
    "PROJECT_SCOPES",
    "HookEntry",
    "McpServer",
    "Settings",
    "disables_bypass",
    "hooks_of",
    "merge",
    "servers_of",
]

PROJECT_SCOPES: frozenset[Scope] = frozenset({"projectSettings", "localSettings"})
"""Scopes whose files lie in the folder itself, so that the author of the repository can write them."""
NEVER_OF_A_PROJECT = frozenset({"bypassPermissions", "auto"})
HARMLESS = frozenset(
    """agent alwaysThinkingEnabled attribution disabledMcpjsonServers effortLevel includeCoAuthoredBy language model
    outputStyle""".split()
)
"""Settings that count in an untrusted folder: they run no program and widen no permission."""
_RESTRICTING = frozenset({"deny", "ask", "disableBypassPermissionsMode"})
"""Keys of `permissions` that count in an untrusted folder."""
_STRICTNESS = {
    "bypassPermissions": 0,
    "auto": 1,
    "acceptEdits": 2,
    "default": 3,
    "manual": 3,
    "delegate": 3,
    "dontAsk": 4,
    "plan": 5,
}
"""The modes from the most permissive to the strictest."""


class HookEntry(msgspec.Struct, frozen=True):
    """A hook of a settings file: its event, the tools it is for, and the command."""

    event: str
    matcher: str
    hook: Mapping[str, Any]
    scope: Scope
    source: str
    line: int = 0


class McpServer(msgspec.Struct, frozen=True):
    """An MCP server of a settings file or of `.mcp.json`, with its configuration as written."""

    name: str
    config: Mapping[str, Any]
    scope: Scope
    source: str
    line: int = 0


class Settings(msgspec.Struct, frozen=True):
    """The settings in force. `withheld` lists allow rules that do not count; `values` holds all keys, merged.

    `own_mode` is the mode without the word of an untrusted folder.
    """

    rules: tuple[SourcedRule, ...] = ()
    withheld: tuple[SourcedRule, ...] = ()
    mode: str = "default"
    own_mode: str = "default"
    mode_source: str = ""
    bypass_disabled: bool = False
    directories: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    hooks: tuple[HookEntry, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    values: Mapping[str, Any] = {}
    problems: tuple[Problem, ...] = ()


def merge(files: Sequence[SettingsFile], *, folder: str, home: str, trusted: bool) -> Settings:
    """Merge files, given the weakest first. Relative paths are resolved against `folder`, `~` is `home`."""
    settings = [
        file for file in files if file.place.kind == "settings" and (trusted or file.place.scope not in PROJECT_SCOPES)
    ]
    in_force, withheld, problems = _rules(files, trusted=trusted)
    mode, own_mode, mode_source, mode_problems = _mode(files, trusted=trusted)
    values: dict[str, Any] = {}
    for file in files:
        if file.place.kind == "settings":
            counts = trusted or file.place.scope not in PROJECT_SCOPES
            values = _deep(values, file.values if counts else _harmless(file.values))
    return Settings(
        rules=tuple(in_force),
        withheld=tuple(withheld),
        mode=mode,
        own_mode=own_mode,
        mode_source=mode_source,
        bypass_disabled=any(map(disables_bypass, files)) or _is_policy_broken(files),
        directories=tuple(dict.fromkeys(_directories(settings, folder, home))),
        env={key: _text(value) for key, value in cast("dict[str, Any]", values.get("env", {})).items()},
        hooks=tuple(_hooks(settings, only_policy=values.get("disableAllHooks") is True)),
        mcp_servers=tuple(_servers(files, values, trusted=trusted)),
        values=values,
        problems=(*(problem for file in files for problem in file.problems), *problems, *mode_problems),
    )


def _harmless(values: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a file's values that counts in an untrusted folder."""
    kept = {key: value for key, value in values.items() if key in HARMLESS}
    permissions = cast("dict[str, Any]", values.get("permissions", {}))
    restricting = {key: value for key, value in permissions.items() if key in _RESTRICTING}
    return {**kept, "permissions": restricting} if restricting else kept


def _rules(
    files: Sequence[SettingsFile], *, trusted: bool
) -> tuple[list[SourcedRule], list[SourcedRule], list[Problem]]:
    only_policy_allows = _policy(files).get("allowManagedPermissionRulesOnly") is True or _is_policy_broken(files)
    in_force: list[SourcedRule] = []
    withheld: list[SourcedRule] = []
    problems: list[Problem] = []
    for file in files:
        for rule in _rules_of(file):
            scope = rule.scope
            held_back = (scope in PROJECT_SCOPES and not trusted) or (only_policy_allows and scope != "policySettings")
            (withheld if rule.behavior == "allow" and held_back else in_force).append(rule)
            if rule.broken:
                problems.append(
                    Problem(file.place.path, f"this {rule.behavior} rule cannot be read: {rule.broken}", rule.line, 1)
                )
    return in_force, withheld, problems


def _rules_of(file: SettingsFile) -> Iterable[SourcedRule]:
    texts = file.rule_texts()
    for behavior in cast("tuple[Behavior, ...]", ("deny", "ask", "allow")):
        rows = [rule for rule in texts if rule.behavior == behavior]
        yield from read_rules(
            [rule.text for rule in rows], behavior, file.place.scope, file.place.path, [rule.line for rule in rows]
        )


def _policy(files: Sequence[SettingsFile]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for file in files:
        if file.place.scope == "policySettings":
            values = _deep(values, file.values)
    return values


def _is_policy_broken(files: Sequence[SettingsFile]) -> bool:
    """Whether a policy file cannot be read. Then no other file may allow anything, and no mode bypasses prompts."""
    return any(file.broken and file.place.scope == "policySettings" for file in files)


def disables_bypass(file: SettingsFile) -> bool:
    """Whether a file disables bypassPermissions. This only restricts, so it counts in an untrusted folder too."""
    switch = file.tree.at("permissions", "disableBypassPermissionsMode") if file.tree is not None else None
    return switch is not None and switch.value in ("disable", True)


def _mode(files: Sequence[SettingsFile], *, trusted: bool) -> tuple[str, str, str, list[Problem]]:
    """The default mode, the same without the word of an untrusted folder, its place, and problems.

    An untrusted folder can make the mode stricter than the weaker scopes do, not more permissive.
    """
    mode, own, source = "default", "default", ""
    problems: list[Problem] = []
    for file in files:
        if file.place.kind != "settings":
            continue
        asked = cast("dict[str, Any]", file.values.get("permissions", {})).get("defaultMode")
        if asked is None:
            continue
        line = file.line("permissions", "defaultMode")
        of_project = file.place.scope in PROJECT_SCOPES
        if asked not in MODES:
            text = f"`defaultMode` is {str(asked)[:60]!r}; it must be one of {', '.join(sorted(MODES))}"
            problems.append(Problem(file.place.path, text, line, 1))
        elif asked in NEVER_OF_A_PROJECT and of_project:
            problems.append(Problem(file.place.path, f"`defaultMode` {asked} does not count in a project", line, 1))
        elif trusted or not of_project:
            mode, own, source = asked, asked, f"{file.place.path}:{line}"
        elif _STRICTNESS[asked] > _STRICTNESS[mode]:
            mode, source = asked, f"{file.place.path}:{line}"
    return mode, own, source, problems


def _directories(files: Iterable[SettingsFile], folder: str, home: str) -> Iterable[str]:
    for file in files:
        for path in cast("dict[str, Any]", file.values.get("permissions", {})).get("additionalDirectories", ()):
            expanded = os.path.join(home, path[2:]) if path.startswith("~/") else home if path == "~" else path
            yield os.path.normpath(os.path.join(folder, expanded))


def _hooks(files: Sequence[SettingsFile], *, only_policy: bool) -> Iterable[HookEntry]:
    only_policy = only_policy or _policy(files).get("allowManagedHooksOnly") is True
    for file in files:
        if only_policy and file.place.scope != "policySettings":
            continue
        yield from hooks_of(file)


def hooks_of(file: SettingsFile) -> Iterable[HookEntry]:
    """The hooks of one file, one by one, each with its line."""
    events = file.tree.at("hooks") if file.tree is not None and not file.broken else None
    for event, groups in ((events and events.members) or {}).items():
        for group in groups.items or ():
            matcher = group.at("matcher")
            hooks = group.at("hooks")
            for hook in (hooks and hooks.items) or ():
                words = cast("dict[str, Any]", hook.plain()) if hook.members is not None else {"command": hook.plain()}
                matched = str(matcher.value) if matcher is not None and matcher.value is not None else ""
                yield HookEntry(event, matched, words, file.place.scope, file.place.path, file.line_of(hook))


def _servers(files: Iterable[SettingsFile], values: Mapping[str, Any], *, trusted: bool) -> Iterable[McpServer]:
    """The servers by name; a file wins over a weaker one.

    Those of `.mcp.json` also count in an untrusted folder if the user's own settings approve all such servers. Then
    they do not replace a server that the user configured: rules that allow its tools are not meant for them.
    """
    disabled = cast("list[str]", values.get("disabledMcpjsonServers", []))
    approved = values.get("enableAllProjectMcpServers") is True
    found: dict[str, McpServer] = {}
    shared: dict[str, McpServer] = {}
    for file in files:
        of_project, in_mcp_file = file.place.scope in PROJECT_SCOPES, file.place.kind == "mcp"
        servers = {server.name: server for server in servers_of(file) if not in_mcp_file or server.name not in disabled}
        if trusted or not of_project:
            found |= servers
        elif in_mcp_file and approved:
            shared |= servers
    return {**shared, **found}.values()


def servers_of(file: SettingsFile) -> Iterable[McpServer]:
    """The MCP servers of one file, each with its line."""
    for name, config in cast("dict[str, dict[str, Any]]", file.values.get("mcpServers", {})).items():
        line = file.line("mcpServers", name)
        yield McpServer(name, config, file.place.scope, file.place.path, line)


def _deep(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(weak)
    for key, value in strong.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _deep(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        elif isinstance(old, list) and isinstance(value, list):
            both = [*cast("list[Any]", old), *cast("list[Any]", value)]
            merged[key] = [*{msgspec.json.encode(item): item for item in both}.values()]
        else:
            merged[key] = value
    return merged


def _text(value: Any) -> str:
    """The value of a variable as text; booleans are spelled as in JSON."""
    return str(value).lower() if isinstance(value, bool) else str(value)
