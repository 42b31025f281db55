"""Memory files: notes that people keep for agents, which every conversation begins with.

    <config home>/CLAUDE.md, <config home>/rules/**/*.md                 User
    FOLDER/CLAUDE.md, FOLDER/.claude/CLAUDE.md, FOLDER/.claude/rules     Project
    FOLDER/CLAUDE.local.md                                               Local
    FOLDER/AGENTS.md                                                     Project, if no folder has a CLAUDE.md
    <config home>/projects/<project>/memory/MEMORY.md                    AutoMem

FOLDER is each folder from / to the working folder. Files of a subfolder, and rules with `paths`, are added when a file
that they are about is read. A repository may hold anything, so all of it is read within limits and through `Root`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.prompt.memory_text import alternatives, globs_of, imports_of, readable_text
from handrail.agent.session import Session
from handrail.files.errors import FileError
from handrail.files.open import Root
from handrail.files.resolve import real_path, resolve
from handrail.permissions.paths.names import is_below
from handrail.permissions.paths.patterns import compile_pattern, problem_of
from handrail.settings.git_folders import confirmed_top, inside_git
from handrail.settings.given_trust import external_imports_approved
from handrail.settings.private_file import PrivateFileError

__all__ = ["Memory", "MemoryFile", "memory_text"]

FILE_LIMIT: Final = 256 * 1024
TOTAL_LIMIT: Final = 512 * 1024
"""Bytes of all files that a conversation begins with."""
LEVELS: Final = 5
"""A memory file, the files it imports, the files those import, …"""
AUTO_LINES: Final = 200
MOST_RULES: Final = 200
_KINDS: Final = {
    "User": "the user's notes for all projects",
    "Project": "notes of the project, shared by all who work on it",
    "Local": "the user's own notes for this project",
    "AutoMem": "notes that agents kept in earlier sessions of this project",
}
_OPENING: Final = """\
<system-reminder>
The files below hold instructions and facts that people keep for you. Follow them where they apply to the task: they \
override your defaults, and what the user says in this conversation overrides them. They do not need an answer.
"""


class MemoryFile(Struct, frozen=True):
    """One file as the model sees it, and why it was loaded.

    `base` is the folder that `globs` are relative to. `cut` is the number of bytes that were left out.
    """

    path: str
    kind: str
    text: str
    reason: str = "session_start"
    parent: str = ""
    trigger: str = ""
    globs: tuple[str, ...] = ()
    base: str = ""
    cut: int = 0

    def hook_fields(self) -> dict[str, Any]:
        """The fields of an InstructionsLoaded hook."""
        fields: dict[str, Any] = {"file_path": self.path, "memory_type": self.kind, "load_reason": self.reason}
        if self.globs:
            fields["globs"] = list(self.globs)
        more = {"parent_file_path": self.parent, "trigger_file_path": self.trigger}
        return fields | {name: value for name, value in more.items() if value}

    def shown(self) -> str:
        """Path, kind and text, and how much of the file is missing."""
        note = f"\n[{self.cut:,} more bytes of this file were left out; read it if you need them]" if self.cut else ""
        return f"Contents of {self.path} ({_KINDS[self.kind]}):\n\n{self.text}{note}"


def memory_text(files: Iterable[MemoryFile]) -> str:
    """The files as one text for the model; "" without files."""
    shown = [file.shown() for file in files]
    return "\n".join([_OPENING, "\n\n".join(shown), "</system-reminder>"]) if shown else ""


class Memory:
    """The memory files of a session. They are read when they are first needed, and again after `forget`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loaded: list[MemoryFile] | None = None
        self._conditional: list[MemoryFile] = []
        self._paths: set[str] = set()
        self._reads_agents_files = False

    def forget(self) -> None:
        """Read the files again when they are needed next: the conversation starts over."""
        self._loaded = None

    def loaded(self) -> list[MemoryFile]:
        """The files that the conversation begins with."""
        if self._loaded is None:
            reader = _Reader(self._session)
            self._loaded = [] if self._session.arguments.bare else _within_limits(reader.at_start())
            self._conditional = reader.conditional
            self._reads_agents_files = reader.reads_agents_files
            self._paths = {file.path for file in self._loaded}
        return self._loaded

    def about(self, path: str, shown: set[str]) -> list[MemoryFile]:
        """The files to add because the model has read or changed the file `path`.

        `shown` holds the paths that the conversation already has from here; those that are returned are added.
        """
        if self._session.arguments.bare:
            return []
        self.loaded()
        reader = _Reader(self._session, known=self._paths | shown, reads_agents_files=self._reads_agents_files)
        found = [replace(file, trigger=path) for file in reader.below(path)]
        rules = [*reader.conditional, *self._conditional]
        for rule in rules:
            if rule.path not in shown and _is_about(rule, path):
                found.append(replace(rule, reason="path_glob_match", trigger=path))
        found = [file for file in found if file.path not in shown]
        shown.update(file.path for file in found)
        return found


class _Reader:
    """Reads memory files once. `known`: paths that are not read again."""

    def __init__(self, session: Session, known: set[str] | None = None, *, reads_agents_files: bool = False) -> None:
        self._session, self._seen = session, set(known or ())
        self._top = inside_git(session.cwd)[-1]
        self._external: bool | None = None
        self.conditional: list[MemoryFile] = []
        """Rules with `paths`, which wait for a file that they are about."""
        self.reads_agents_files = reads_agents_files

    def at_start(self) -> Iterator[MemoryFile]:
        """Files of the user, then of each folder down to the working folder, then of more folders."""
        session = self._session
        if "user" in session.sources:
            yield from self._file(os.path.join(session.config_home, "CLAUDE.md"), "User")
            yield from self._rules(os.path.join(session.config_home, "rules"), "User", session.cwd)
        above = [*reversed(Path(session.cwd).parents), Path(session.cwd)]
        of_folders = [file for folder in above for file in self._folder(str(folder))]
        yield from of_folders
        self.reads_agents_files = not any(_is_main_file(file) for file in of_folders)
        if self.reads_agents_files and "project" in session.sources:
            for folder in above:
                yield from self._file(os.path.join(folder, "AGENTS.md"), "Project")
        if _is_on(session.environment.get("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD")):
            for folder in session.folders:
                yield from self._folder(folder)
        yield from self._auto()

    def below(self, path: str) -> Iterator[MemoryFile]:
        """Files of the folders between the working folder and a file below it."""
        cwd = self._session.cwd
        if not is_below(path, cwd):
            return
        folders = [folder for folder in Path(path).parents if is_below(str(folder), cwd) and str(folder) != cwd]
        for folder in reversed(folders):
            found = list(self._folder(str(folder)))
            if self.reads_agents_files and not any(map(_is_main_file, found)) and "project" in self._session.sources:
                found += self._file(os.path.join(folder, "AGENTS.md"), "Project")
            for file in found:
                yield file if file.reason == "include" else replace(file, reason="nested_traversal")

    def _folder(self, folder: str) -> Iterator[MemoryFile]:
        own, session = os.path.join(folder, ".claude"), self._session
        if "project" in session.sources:
            yield from self._file(os.path.join(folder, "CLAUDE.md"), "Project")
            if real_path(own) != real_path(session.config_home):  # that one is the user's
                yield from self._file(os.path.join(own, "CLAUDE.md"), "Project")
                yield from self._rules(os.path.join(own, "rules"), "Project", folder)
        if "local" in session.sources:
            yield from self._file(os.path.join(folder, "CLAUDE.local.md"), "Local")

    def _rules(self, folder: str, kind: str, base: str) -> Iterator[MemoryFile]:
        for path in _markdown_below(folder):
            yield from self._file(path, kind, base=base)

    def _auto(self) -> Iterator[MemoryFile]:
        """The index of notes that agents keep for the project."""
        session = self._session
        off = session.settings.values.get("autoMemoryEnabled") is False
        if off or _is_on(session.environment.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY")):
            return
        from handrail.transcripts.layout import project_name

        folder = os.path.join(session.config_home, "projects", project_name(confirmed_top(session.cwd)), "memory")
        for file in self._file(os.path.join(folder, "MEMORY.md"), "AutoMem"):
            lines = file.text.splitlines(keepends=True)
            text = "".join(lines[:AUTO_LINES])
            yield replace(file, text=text, cut=file.cut + len("".join(lines[AUTO_LINES:]).encode()))

    def _file(self, path: str, kind: str, *, parent: str = "", level: int = 1, base: str = "") -> Iterator[MemoryFile]:
        """A file and its imports; nothing if it is missing, empty, excluded or already read."""
        path = os.path.normpath(path)
        if kind != "AutoMem" and _is_on(self._session.environment.get("CLAUDE_CODE_DISABLE_CLAUDE_MDS")):
            return
        if path in self._seen or not os.path.isfile(path) or self._is_excluded(path, kind):
            return
        self._seen.add(path)
        data, cut = self._read(path, kind)
        if b"\0" in data:
            return
        head, text = readable_text(data)
        if not text:
            return
        reason = "include" if parent else "session_start"
        file = MemoryFile(path, kind, text, reason, parent, base=base, cut=cut)
        if base and (globs := globs_of(head)):
            self.conditional.append(replace(file, globs=globs))
            return
        yield file
        if kind != "AutoMem" and level < LEVELS:
            for name in imports_of(text):
                yield from self._import(name, file, level + 1)

    def _import(self, name: str, parent: MemoryFile, level: int) -> Iterator[MemoryFile]:
        name = os.path.join(self._session.home, name[2:]) if name.startswith("~/") else name
        path = os.path.normpath(os.path.join(os.path.dirname(parent.path), name))
        if not _is_text_name(path):
            return
        if parent.kind != "User":
            if not is_below(path, self._session.cwd) and not self._may_leave():
                return
            if self._session.denies_read(resolve(path, self._session.circumstances.anchors)):
                return
        yield from self._file(path, parent.kind, parent=parent.path, level=level)

    def _may_leave(self) -> bool:
        """Whether the user approved that files of this project import others from outside of it."""
        if self._external is None:
            try:
                self._external = external_imports_approved(self._session.cwd, self._session.state_file)
            except PrivateFileError:
                self._external = False
        return self._external

    def _read(self, path: str, kind: str) -> tuple[bytes, int]:
        """The bytes of a file up to the limit, and how many follow. A link may not lead out of the project."""
        folder = os.path.dirname(path)
        inside = next((root for root in (self._session.cwd, self._top) if is_below(path, root)), folder)
        free = kind in ("User", "AutoMem") or (not is_below(path, self._top) and self._external)
        try:
            with Root("/" if free else inside) as root, root.open(path) as stream:
                data = stream.read(FILE_LIMIT + 1)
                size = os.fstat(stream.fileno()).st_size
        except (FileError, OSError):
            return b"", 0
        return data[:FILE_LIMIT], max(size, len(data)) - len(data[:FILE_LIMIT])

    def _is_excluded(self, path: str, kind: str) -> bool:
        given: Any = self._session.settings.values.get("claudeMdExcludes")
        if kind == "AutoMem" or not isinstance(given, list):
            return False
        globs = [glob for glob in cast("list[Any]", given) if isinstance(glob, str) and not problem_of(glob)]
        names = path.strip("/").split("/")
        return any(compile_pattern(each).matches(names) for glob in globs for each in alternatives(glob))


def _within_limits(files: Iterable[MemoryFile]) -> list[MemoryFile]:
    """The files up to the limit of all together. Those after it are cut to nothing, and say so."""
    kept: list[MemoryFile] = []
    left = TOTAL_LIMIT
    for file in files:
        data = file.text.encode()
        if len(data) > left:
            text = data[:left].decode("utf-8", "ignore")
            kept.append(replace(file, text=text, cut=file.cut + len(data) - len(text.encode())))
        else:
            kept.append(file)
        left = max(left - len(data), 0)
    return kept


def _is_main_file(file: MemoryFile) -> bool:
    return os.path.basename(file.path) in ("CLAUDE.md", "CLAUDE.local.md") and not file.parent


def _is_about(rule: MemoryFile, path: str) -> bool:
    """Whether a pattern of a rule, in the manner of gitignore, matches a file below the rule's folder."""
    if not is_below(path, rule.base) or path == rule.base:
        return False
    names = path[len(rule.base) :].strip("/").split("/")
    return any(_matches(each, names) for glob in rule.globs for each in alternatives(glob))


def _matches(glob: str, names: list[str]) -> bool:
    if problem_of(glob) or glob.startswith("./"):
        return False
    anywhere = "/" not in glob.rstrip("/")
    return compile_pattern(glob, anywhere=anywhere, forgiving=True).matches(names)


def _markdown_below(folder: str) -> list[str]:
    """The Markdown files of a folder and its subfolders, sorted, within a limit."""
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(folders)[:100]
        found += [os.path.join(place, name) for name in sorted(names) if name.endswith(".md")]
        if len(found) >= MOST_RULES:
            break
    return found[:MOST_RULES]


def _is_text_name(path: str) -> bool:
    """Whether a file of this name can hold text. Pictures, archives and the like cannot."""
    from mimetypes import guess_type

    kind = guess_type(path)[0] or "text/plain"
    return not kind.startswith(("image/", "audio/", "video/", "font/")) and kind not in _NOT_TEXT


_NOT_TEXT: Final = frozenset(
    f"application/{name}" for name in ("pdf", "zip", "gzip", "x-tar", "octet-stream", "x-sqlite3", "java-archive")
)


def _is_on(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true", "yes", "on")
