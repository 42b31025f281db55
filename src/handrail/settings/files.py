"""Finds and reads settings files.

    policySettings   /etc/claude-code/managed-settings.json and managed-settings.d/*.json
    flagSettings     --settings FILE or JSON
    localSettings    FOLDER/.claude/settings.local.json, and that at the top of its git repository
    projectSettings  FOLDER/.claude/settings.json, and the MCP servers of FOLDER/.mcp.json
    userSettings     CONFIG HOME/settings.json

A file that is broken, too large or not a plain file is reported with its place. Such a file grants nothing; its deny
and ask rules hold as far as they can be read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from handrail.permissions.rules.rule import Behavior, Scope
from handrail.platform import is_macos
from handrail.settings.git_folders import inside_git, main_top
from handrail.settings.json_tree import TWICE, JsonFault, Lines, Node, parse
from handrail.settings.plain_file import LIMIT, Unreadable, read_bytes
from handrail.settings.shapes import MCP_SHAPES, SETTINGS_SHAPES, misfits, odd_rules

__all__ = [
    "Place",
    "Problem",
    "RuleText",
    "SettingsFile",
    "cli_state_file",
    "config_home",
    "places",
    "policy_folder",
    "read_data",
    "read_file",
]

Kind = Literal["settings", "mcp"]


class Place(msgspec.Struct, frozen=True):
    """Where settings come from: a file, or `text` given on the command line. `mcp` files hold MCP servers only."""

    scope: Scope
    path: str
    kind: Kind = "settings"
    text: str | None = None


class Problem(msgspec.Struct, frozen=True):
    """A fault and its place. A line of 0 means the file as a whole."""

    path: str
    text: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.path}{place}: {self.text}"


class RuleText(msgspec.Struct, frozen=True):
    """A rule as written in a file, not yet parsed."""

    behavior: Behavior
    text: str
    line: int = 0


class SettingsFile(msgspec.Struct, frozen=True):
    """One file, read once: the same bytes are hashed, shown and put in force.

    `data` is None for a missing file. A `broken` file has problems and grants nothing; `values` is then empty. A file
    whose only problems are entries of the list of allow rules is not broken.
    """

    place: Place
    data: bytes | None = None
    text: str = ""
    lines: Lines | None = None
    tree: Node | None = None
    problems: tuple[Problem, ...] = ()
    broken: bool = False
    remembered: tuple[RuleText, ...] = ()
    """Deny and ask rules of the last valid version of this file, if it is broken now."""

    @property
    def values(self) -> Mapping[str, Any]:
        """All settings of the file; empty if it is broken."""
        return {} if self.broken or self.tree is None else cast("dict[str, Any]", self.tree.plain())

    def line(self, *keys: str) -> int:
        """The line of a value, by the keys that lead to it; 0 if it is missing."""
        node = self.tree.at(*keys) if self.tree is not None else None
        return 0 if node is None else self.line_of(node)

    def line_of(self, node: Node) -> int:
        """The line on which a member's key, or else the value, begins."""
        return self.place_of(node.key_start if node.key_start >= 0 else node.start)[0]

    def place_of(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset in the text."""
        return (0, 0) if self.lines is None else self.lines.place(offset)

    def rule_texts(self) -> list[RuleText]:
        """The rules in the order of the file. A broken file has only its deny and ask rules."""
        if self.tree is None or self.place.kind != "settings":
            return [*self.remembered]
        found = [
            RuleText(behavior, str(node.value), self.line_of(node))
            for behavior in _BEHAVIORS
            for node in self._rule_nodes(self.tree, behavior)
        ]
        read = {(rule.behavior, rule.text) for rule in found}
        return found + [rule for rule in self.remembered if (rule.behavior, rule.text) not in read]

    def _rule_nodes(self, tree: Node, behavior: Behavior) -> list[Node]:
        """The rules of one behaviour. Text inside of an odd entry may restrict, but allows nothing."""
        if behavior != "allow":
            return _texts(tree, "permissions", behavior)
        allow = None if self.broken else tree.at("permissions", "allow")
        return [] if allow is None else [item for item in allow.items or () if isinstance(item.value, str)]


_BEHAVIORS: tuple[Behavior, ...] = ("deny", "ask", "allow")


def _texts(tree: Node, *keys: str) -> list[Node]:
    """All text below a path. Duplicate keys, which only a broken file has, all count."""
    nodes = [tree]
    for key in keys:
        nodes = [
            below
            for node in nodes
            for name, below in (node.members or {}).items()
            if name == key or name.startswith(f"{key}{TWICE}")
        ]
    return [text for node in nodes for text in node.strings()]


def config_home(env: Mapping[str, str] | None = None) -> str:
    """The CLI's own folder: `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    env = os.environ if env is None else env
    return os.path.abspath(env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or Path.home(), ".claude"))


def cli_state_file(env: Mapping[str, str] | None = None) -> str:
    """The file in which the CLI stores its own state: `$CLAUDE_CONFIG_DIR/.claude.json`, else `~/.claude.json`.

    A `.config.json` in the config home, the name of older versions, wins over both: the CLI still uses it.
    """
    env = os.environ if env is None else env
    older = os.path.join(config_home(env), ".config.json")
    if os.path.exists(older):
        return older
    folder = env.get("CLAUDE_CONFIG_DIR") or env.get("HOME") or Path.home()
    return os.path.join(os.path.abspath(folder), ".claude.json")


def policy_folder() -> str:
    """The folder of an organisation's settings on this machine."""
    return "/Library/Application Support/ClaudeCode" if is_macos() else "/etc/claude-code"


def places(folder: str, home: str, *, policy: str | None = None, flag: str | None = None) -> list[Place]:
    """The places of settings, the weakest first. `home` is the config home, `flag` the value of --settings."""
    tops = dict.fromkeys((main_top(folder), inside_git(folder)[-1], folder))
    return [
        Place("userSettings", os.path.join(home, "settings.json")),
        *(Place("projectSettings", os.path.join(above, ".mcp.json"), "mcp") for above in reversed(inside_git(folder))),
        Place("projectSettings", os.path.join(folder, ".claude", "settings.json")),
        *(Place("localSettings", os.path.join(top, ".claude", "settings.local.json")) for top in tops),
        *([] if flag is None else [_flag_place(flag)]),
        *(Place("policySettings", path) for path in _policy_files(policy or policy_folder())),
    ]


def _flag_place(flag: str) -> Place:
    inline = flag.lstrip().startswith("{")
    return Place("flagSettings", "--settings" if inline else os.path.abspath(flag), text=flag if inline else None)


def _policy_files(folder: str) -> list[str]:
    parts = os.path.join(folder, "managed-settings.d")
    try:
        names = sorted(name for name in os.listdir(parts) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        names = []
    return [os.path.join(folder, "managed-settings.json"), *(os.path.join(parts, name) for name in names)]


def read_file(place: Place) -> SettingsFile:
    """Read one place. Problems are reported in the result, and none is raised."""
    try:
        data = read_bytes(place.path) if place.text is None else place.text.encode("utf-8", "replace")
    except Unreadable as error:
        return SettingsFile(place, problems=(Problem(place.path, str(error)),), broken=True)
    if data is None and place.scope == "flagSettings":
        return SettingsFile(place, problems=(Problem(place.path, "file not found"),), broken=True)
    return SettingsFile(place) if data is None else read_data(place, data)


def read_data(place: Place, data: bytes) -> SettingsFile:
    """Parse the bytes of a place."""
    if len(data) > LIMIT:
        return SettingsFile(place, problems=(Problem(place.path, f"larger than {LIMIT // 1024} KiB"),), broken=True)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return _parsed(SettingsFile(place, data, text, Lines(text)))


def _parsed(file: SettingsFile) -> SettingsFile:
    try:
        cast("bytes", file.data).decode()
    except UnicodeDecodeError as error:
        return _broken(file, None, f"not UTF-8: byte {error.start + 1} of the file")
    if not file.text.strip():
        return _broken(file, None, "an empty file; write {} into it, or remove it")
    try:
        tree = parse(file.text)
    except JsonFault as fault:
        return _broken(file, fault.partial, fault.problem, fault.offset)
    shapes = MCP_SHAPES if file.place.kind == "mcp" else SETTINGS_SHAPES
    wrong = misfits(tree, shapes)
    odd = odd_rules(tree) if file.place.kind == "settings" else []
    problems = tuple(_problem(file, node, text) for node, text in (*wrong, *odd))
    return msgspec.structs.replace(file, tree=tree, problems=problems, broken=bool(wrong))


def _broken(file: SettingsFile, tree: Node | None, text: str, offset: int | None = None) -> SettingsFile:
    line, column = (0, 0) if offset is None else file.place_of(offset)
    problem = Problem(file.place.path, text, line, column)
    return msgspec.structs.replace(file, tree=tree, problems=(problem,), broken=True)


def _problem(file: SettingsFile, node: Node, text: str) -> Problem:
    return Problem(file.place.path, text, *file.place_of(node.start))
