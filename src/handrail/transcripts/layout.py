"""The paths of session files, and opening them safely.

    <config home>/projects/<project>/<session>.jsonl
    <config home>/projects/<project>/<session>/subagents/**/agent-<id>.jsonl + .meta.json
    <config home>/projects/<project>/<session>/tool-results/*

Only `projects` itself may be a symbolic link. Below it no link is followed, so a name chosen by a repository or a model
cannot lead outside.
"""

import os
import re
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from handrail.platform import FOLDER, NO_FOLLOW, NO_WAIT, RAW, has, is_junction, require
from handrail.transcripts.errors import InvalidSessionId, SessionNotFound, TranscriptUnusable

SESSION_ID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_NAME_LIMIT = 200
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


Listed = tuple[int, int, int, str, str]
"""A transcript: modification time in nanoseconds, size, inode, project, session id."""


class SessionFile(msgspec.Struct, frozen=True, gc=False):
    """The files of one session: its transcript and the folder beside it. `root` is the real `projects` folder."""

    root: Path
    project: str
    session_id: str

    @property
    def path(self) -> Path:
        return self.root / self.project / f"{self.session_id}.jsonl"

    @property
    def folder(self) -> Path:
        return self.root / self.project / self.session_id

    @property
    def subagents(self) -> Path:
        return self.folder / "subagents"

    @property
    def tool_results(self) -> Path:
        return self.folder / "tool-results"


def config_home(env: Mapping[str, str] | None = None) -> Path:
    """The CLI's own folder: `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    env = os.environ if env is None else env
    named = env.get("CLAUDE_CONFIG_DIR")
    if named:
        return Path(named)
    home = env.get("HOME")
    return (Path(home) if home else Path.home()) / ".claude"


def legacy_home(env: Mapping[str, str] | None = None) -> Path | None:
    """`~/.handrail`, where handrail-agent 0.1 kept its sessions; None if `$CLAUDE_CONFIG_DIR` is set."""
    env = os.environ if env is None else env
    if env.get("CLAUDE_CONFIG_DIR"):
        return None
    home = env.get("HOME")
    return (Path(home) if home else Path.home()) / ".handrail"


def search_path(home: Path | None = None, env: Mapping[str, str] | None = None) -> list[Path]:
    """The config homes in which sessions are looked up, first match wins: `home` alone, else those of `env`."""
    if home is not None:
        return [home]
    legacy = legacy_home(env)
    return [config_home(env), *([] if legacy is None else [legacy])]


def projects_folder(home: Path | None = None) -> Path:
    """The real path of the folder that holds one folder per project."""
    return ((home or config_home()) / "projects").resolve()


def project_name(directory: str | Path) -> str:
    """The folder name the CLI gives to a working directory.

    The CLI counts UTF-16 units: a character outside the basic plane becomes two dashes, and the hash that ends a long
    name runs over the units of the whole path.
    """
    units = memoryview(str(Path(directory).resolve()).encode("utf-16-le", "surrogatepass")).cast("H")
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    return name if len(name) <= _NAME_LIMIT else f"{name[:_NAME_LIMIT]}-{_short_hash(units)}"


def _short_hash(units: memoryview) -> str:
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >> 31 else value)
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"


def check_session_id(text: str) -> str:
    """Return the text if it is a UUID, else raise InvalidSessionId: nothing else may become part of a path."""
    if not re.fullmatch(SESSION_ID, text):
        raise InvalidSessionId(f"{text[:60]!r} is not a session id: a UUID is expected")
    return text


def session_files(root: Path, project: str | None = None) -> list[Listed]:
    """List the transcripts of one project or of all, newest first. Links and special files are skipped."""
    found: list[Listed] = []
    is_session = re.compile(rf"{SESSION_ID}\.jsonl").fullmatch
    for folder in [project] if project is not None else project_folders(root):
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    name = entry.name
                    if is_session(name) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime_ns, status.st_size, status.st_ino, folder, name[:-6]))
        except OSError:
            continue  # removed or made unreadable meanwhile; list the others
    found.sort(reverse=True)
    return found


def project_folders(root: Path) -> list[str]:
    """The names of all project folders; links are left out."""
    try:
        with os.scandir(root) as entries:
            # The CLI names project folders in ASCII; a name that is not valid text could not be shown.
            return [entry.name for entry in entries if entry.name.isascii() and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def locate(session_id: str, home: Path | None = None) -> SessionFile:
    """Find a session in any project; the newest file counts if several projects have one.

    Raises InvalidSessionId or SessionNotFound.
    """
    check_session_id(session_id)
    roots = [projects_folder(one) for one in search_path(home)]
    for root in roots:
        if (found := _locate_below(root, session_id)) is not None:
            return found
    raise SessionNotFound(f"no session {session_id} under {roots[0]}")


def _locate_below(root: Path, session_id: str) -> SessionFile | None:
    found: list[tuple[int, SessionFile]] = []
    for project in project_folders(root):
        file = SessionFile(root, project, session_id)
        try:
            status = file.path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((status.st_mtime_ns, file))
    return max(found, key=lambda pair: pair[0])[1] if found else None


@contextmanager
def folder_below(root: Path, folder: Path) -> Generator[int]:
    """Open `folder` from `root` step by step, without following a link. Raises Unsupported on Windows."""
    require("folder_descriptors", "archiving, forking or deleting a session")
    descriptor = os.open(root, os.O_RDONLY | FOLDER | RAW)
    try:
        for step in folder.relative_to(root).parts:
            if step == "..":
                raise ValueError("a path below the projects folder must not contain '..'")
            below = os.open(step, os.O_RDONLY | FOLDER | NO_FOLLOW | RAW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _open_checked(root: Path, path: Path, flags: int) -> int:
    """Open by path, after a look at every name on the way: there must be no link.

    A name may be exchanged in between. That needs write access to the projects folder, which only its owner has.
    """
    for place in (*reversed(path.relative_to(root).parents), path.relative_to(root)):
        if ".." in place.parts or os.path.islink(root / place) or is_junction(root / place):
            raise ValueError("a path below the projects folder must not contain '..' or a link")
    return os.open(path, flags | RAW)


def open_below(root: Path, path: Path, flags: int = os.O_RDONLY) -> int:
    """Open the regular file `path` below `root`. A pipe or a device is refused without waiting for it."""
    try:
        if not has("folder_descriptors"):
            descriptor = _open_checked(root, path, flags)
        else:
            with folder_below(root, path.parent) as folder:
                descriptor = os.open(path.name, flags | NO_FOLLOW | NO_WAIT | RAW, dir_fd=folder)
    except FileNotFoundError as error:
        raise SessionNotFound(f"{path} does not exist") from error
    except (OSError, ValueError) as error:
        raise TranscriptUnusable(f"cannot open {path}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TranscriptUnusable(f"{path} is not a regular file")
    return descriptor
