"""Lists what a folder's own files would run or change, item by item, and hashes them.

A repository can bring along hooks, MCP servers, variables, allow rules, helper programs, agents, skills, commands and a
git configuration. Each becomes an `Item` with its file and line, for a person to read. Items that run a program or
widen a permission need trust before they count. The hash covers every byte of the files that hold items, and the
scripts in the folder that they start.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, cast

import msgspec

from handrail.settings.files import Problem, SettingsFile
from handrail.settings.git_config import GitEntry, git_entries, hook_folders, is_hook_script
from handrail.settings.git_folders import git_directories, inside_git, main_top
from handrail.settings.merge import HARMLESS, PROJECT_SCOPES, hooks_of, servers_of
from handrail.settings.plain_file import Unreadable, read_bytes
from handrail.settings.sha256 import sha256_of

__all__ = ["Contents", "Item", "Kind", "collect"]

Kind = Literal[
    "hook", "mcp server", "env", "permission", "helper", "setting", "agent", "skill", "command", "git", "script"
]

HELPERS = frozenset(
    """apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh otelHeadersHelper proxyAuthHelper statusLine
    subagentStatusLine fileSuggestion forceLoginOrgUUID""".split()
)
"""Settings that name a program to run."""
NO_ITEMS = frozenset({"$schema", "hooks", "mcpServers", "env", "permissions"})
"""Settings that are not items themselves: they mean nothing, or each part of them is an item."""

_MANY = frozenset({"hook", "permission", "agent", "skill", "command"})

FILES_LIMIT = 5_000
ITEMS_LIMIT = 20_000
"""No one reads more than this, so it cannot be accepted."""
MOST_FOLDERS = 20
BYTES_LIMIT = 64 * 1024 * 1024
_WORD = re.compile(r"[^\s\"'`;|&<>()=]+")
_PROJECT = re.compile(r"\$(?:\{CLAUDE_PROJECT_DIR\}|CLAUDE_PROJECT_DIR\b)\"?/?")


class Item(msgspec.Struct, frozen=True):
    """One thing that would run or change. `text` is all of it, as written; `digest` is the hash of its file.

    An item without `needs_trust` is text for the model, or a choice that runs nothing and widens nothing.
    """

    kind: Kind
    name: str
    text: str
    path: str
    line: int = 0
    digest: str = ""
    needs_trust: bool = True

    @property
    def key(self) -> str:
        """Identifies the item on any line. If a file may hold several of one name, the text tells them apart."""
        text = self.text if self.kind in _MANY else ""
        return f"{self.kind}\0{self.name}\0{self.path}\0{text}"


class Contents(msgspec.Struct, frozen=True):
    """All items of a folder. `files` maps each file to its hash; not `complete` if there was too much to read."""

    folder: str
    items: tuple[Item, ...] = ()
    files: Mapping[str, str] = {}
    git: tuple[GitEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    complete: bool = True

    @property
    def needs_trust(self) -> bool:
        """Whether anything in the folder counts only if the folder is trusted."""
        return not self.complete or any(item.needs_trust for item in self.items)

    @property
    def digest(self) -> str:
        """One hash for everything."""
        items = sorted([item.kind, item.name, item.text, item.path, item.digest] for item in self.items)
        return sha256_of(json.dumps([1, sorted(self.files.items()), items, self.complete]).encode())


def collect(folder: str, files: Iterable[SettingsFile]) -> Contents:
    """List the items of a folder, given by its real path. Settings files of other scopes are ignored."""
    collector = _Collector(folder)
    for file in files:
        if file.place.scope in PROJECT_SCOPES and file.place.text is None:
            collector.settings(file)
    for above in dict.fromkeys((*inside_git(folder), main_top(folder))):
        for name, kind in _TEXTS.items():
            collector.texts(os.path.join(above, ".claude", name), kind)
    collector.git()
    return collector.contents()


_TEXTS: dict[str, Kind] = {"agents": "agent", "commands": "command", "skills": "skill"}


class _Collector:
    """Collects the items of one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.items: list[Item] = []
        self.files: dict[str, str] = {}
        self.entries: list[GitEntry] = []
        self.problems: list[Problem] = []
        self.complete = True
        self._bytes = 0
        self._roots = [*map(os.path.realpath, (inside_git(folder)[-1], main_top(folder), *git_directories(folder)))]

    def contents(self) -> Contents:
        # A script that several hooks start is one item.
        items = tuple({(item.key, item.line): item for item in self.items}.values())
        if len(self.items) >= ITEMS_LIMIT:
            self._too_much(self.folder)
        return Contents(
            self.folder, items, self.files, tuple(self.entries), tuple(self.problems), complete=self.complete
        )

    def settings(self, file: SettingsFile) -> None:
        """Add a settings file or `.mcp.json`. A broken file grants nothing; only its problems and its hash are kept."""
        if file.data is None and not file.broken:
            return
        self.files[self._name(file.place.path)] = "unreadable" if file.data is None else sha256_of(file.data)
        self.problems += file.problems
        for hook in hooks_of(file):
            name = f"{hook.event} {hook.matcher}".strip()
            self._add("hook", name, _shown(hook.hook), file, hook.line)
            self._scripts(hook.hook)
        for server in servers_of(file):
            self._add("mcp server", server.name, _shown(server.config), file, server.line)
            self._scripts(server.config)
        if file.place.kind == "settings":
            self._values(file)

    def _values(self, file: SettingsFile) -> None:
        for key, value in cast("dict[str, Any]", file.values.get("env", {})).items():
            self._add("env", key, _shown(value), file, file.line("env", key))
        for rule in file.rule_texts():
            if rule.behavior == "allow":
                self._add("permission", "allow", rule.text, file, rule.line)
        for key, value in cast("dict[str, Any]", file.values.get("permissions", {})).items():
            if key not in ("allow", "deny", "ask"):
                needed = key != "disableBypassPermissionsMode"
                self._add("permission", key, _shown(value), file, file.line("permissions", key), needs_trust=needed)
        for key, value in file.values.items():
            if key not in NO_ITEMS:
                kind: Kind = "helper" if key in HELPERS else "setting"
                self._add(kind, key, _shown(value), file, file.line(key), needs_trust=key not in HARMLESS)
                self._scripts(value)

    def texts(self, root: str, kind: Kind) -> None:
        """Add the files below `.claude/agents`, `commands` or `skills`; of a skill all files, its scripts included."""
        for path in self._walk(root):
            name = os.path.relpath(path, root).removesuffix(".md")
            if path.endswith(".md"):
                self._text(kind, name, path)
            elif kind == "skill":
                self._file(kind, name, "a file that comes with it", path, needs_trust=False)

    def _text(self, kind: Kind, name: str, path: str) -> None:
        from handrail.settings.command_text import grants, is_harmless, shell_lines  # rarely needed

        text = self._file(kind, name, "instructions for the model", path, needs_trust=False)
        for line, key, value in islice(grants(text), ITEMS_LIMIT):
            self._note(kind, name, f"{key}: {value}", path, line, needs_trust=not is_harmless(key))
        for line, command in islice(shell_lines(text), ITEMS_LIMIT):
            self._note(kind, name, f"runs {command}", path, line)

    def git(self) -> None:
        """Add the git configuration and hooks that act when git is run here."""
        self.entries, problems = git_entries(self.folder)
        self.problems += problems
        for entry in self.entries:
            self._note("git", entry.name, entry.value, entry.path, entry.line)
            self._scripts(entry.value)
        for folder in hook_folders(self.folder, self.entries):
            for path in self._walk(folder) if self._ours(folder) else ():
                if is_hook_script(path):
                    self._file("git", os.path.join("hooks", os.path.relpath(path, folder)), "a hook script", path)

    def _scripts(self, value: Any) -> None:
        """Add the files of the folder that a command names: a change to them changes what was accepted."""
        words = {word for text in _texts_of(value) for word in _WORD.findall(_PROJECT.sub("./", text))}
        named = [os.path.normpath(os.path.join(self.folder, word)) for word in sorted(words) if "\0" not in word]
        # A command may go into a folder first, and a server may have one to start in.
        starts = [path for path in named if os.path.isdir(path) and self._ours(path)][:MOST_FOLDERS]
        inner = [os.path.normpath(os.path.join(start, word)) for start in starts for word in sorted(words)]
        for path in dict.fromkeys([*named, *(path for path in inner if "\0" not in path)]):
            if os.path.isfile(path) and self._ours(path):
                self._file("script", os.path.relpath(path, self.folder), "is started", path)

    def _file(self, kind: Kind, name: str, text: str, path: str, *, needs_trust: bool = True) -> str:
        """Add a file and hash it. Returns its text; a link that leads out of the folder is named and not followed."""
        if not self._ours(path):
            self._note(kind, name, f"a link to {os.path.realpath(path)}", path, 1)
            return ""
        data = self._read(path) or b""
        self._note(kind, name, text, path, 1, self.files.get(self._name(path), ""), needs_trust=needs_trust)
        return data.decode("utf-8", "replace")

    def _add(
        self, kind: Kind, name: str, text: str, file: SettingsFile, line: int, *, needs_trust: bool = True
    ) -> None:
        self._note(kind, name, text, file.place.path, line, needs_trust=needs_trust)

    def _note(
        self, kind: Kind, name: str, text: str, path: str, line: int, digest: str = "", *, needs_trust: bool = True
    ) -> None:
        self.items.append(Item(kind, _text(name), _text(text), self._name(path), line, digest, needs_trust))

    def _ours(self, path: str) -> bool:
        """Whether a path lies in the folder's repository after links are followed."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(os.path.join(root, "")) for root in self._roots)

    def _walk(self, root: str) -> Iterator[str]:
        """Every file below, each folder once. Links that lead outside are not followed; the limit ends a flood."""
        seen: set[str] = set()
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            real = os.path.realpath(folder)
            if real in seen or not os.path.isdir(folder) or not os.access(folder, os.R_OK | os.X_OK):
                continue
            seen.add(real)
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if len(self.files) + len(seen) + len(waiting) > FILES_LIMIT:
                    return self._too_much(root)
                if os.path.isdir(path) and self._ours(path):
                    waiting.append(path)
                else:
                    yield path

    def _too_much(self, path: str) -> None:
        self.complete = False
        limits = f"{FILES_LIMIT} files, {ITEMS_LIMIT} items or {BYTES_LIMIT // 2**20} MiB"
        text = f"more than {limits} to check; it cannot be accepted"
        self.problems.append(Problem(path, text))

    def _read(self, path: str) -> bytes | None:
        name = self._name(path)
        try:
            data = read_bytes(path, BYTES_LIMIT - self._bytes)
        except Unreadable as error:
            self.files[name] = "unreadable"
            self.problems.append(Problem(path, str(error)))
            self.complete = self.complete and not str(error).startswith("larger")
            return None
        self._bytes += len(data or b"")
        self.files[name] = sha256_of(data or b"")
        return data

    def _name(self, path: str) -> str:
        """A path as it is shown: relative if it lies in the folder, else absolute."""
        name = os.path.relpath(path, self.folder)
        return _text(path if name.startswith("..") else name)


def _text(name: str) -> str:
    """A name of the file system as text; bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for below in cast("Mapping[str, Any]", value).values():
            yield from _texts_of(below)
    elif isinstance(value, list):
        for below in cast("list[Any]", value):
            yield from _texts_of(below)


def _shown(value: Any) -> str:
    """A value on one line: text as written, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
