"""The only module that knows the operating system: which features it has, and calls that differ between systems.

Other modules ask `has("openat2")` or call a function of this module, and each has a fallback for a missing feature;
FEATURES states them. The environment variable HANDRAIL_WITHOUT takes features away from a process: names of FEATURES,
or `linux` for all that only Linux has, or `posix` for all that Windows lacks. Tests use it to run the fallbacks of
macOS and Windows in real processes.

Every start imports this module, so it imports little at the top.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from handrail.errors import CallerError, MachineError

if TYPE_CHECKING:
    import ctypes

__all__ = [
    "FEATURES",
    "FOLDER",
    "KILL",
    "NO_FOLLOW",
    "NO_TERMINAL",
    "NO_WAIT",
    "RAW",
    "TERM",
    "WITHOUT",
    "UnknownFeature",
    "Unsupported",
    "child_group",
    "die_with_parent",
    "exit_without",
    "file_system_type",
    "grow_pipe",
    "has",
    "is_junction",
    "is_macos",
    "is_readable_by_others",
    "is_writable_by_others",
    "libc",
    "process_folder",
    "read_at",
    "require",
    "seconds_since_boot",
    "signal_group",
    "signal_process",
    "taskkill",
    "user_exists",
]

WITHOUT: Final = "HANDRAIL_WITHOUT"

FEATURES: Final[dict[str, tuple[str, str]]] = {
    "parent_death": ("linux", "the guardian ends the child when its pipe closes"),
    "proc": ("linux", "the process group of a child is ended; processes that left it are not found"),
    "subreaper": ("linux", "orphans of commands belong to process 1; those in the group of the command are ended"),
    "pidfd": ("linux", "a process is signalled by its number, right after its mark was read"),
    "pipe_size": ("linux", "pipes keep their size, which costs more wake-ups"),
    "openat2": ("linux", "paths are opened name by name, each from the folder before it, and never through a link"),
    "landlock": ("linux", "Seatbelt on macOS; else no cage, and more commands are asked about"),
    "private_memory": ("linux", "the system decides which processes of the user may debug the server"),
    "mallopt": ("linux", "the C library decides when freed memory is returned"),
    "boot_clock": ("linux", "the monotonic clock, which may stop while the machine sleeps"),
    "groups": ("posix", "a child is ended with `taskkill /T`, or alone"),
    "guardian": ("posix", "children read the end of their input when this process dies, and exit"),
    "folder_descriptors": ("posix", "files are opened by path after each folder on the way was checked for links"),
    "owners": ("posix", "files rely on the access rules of the user's profile folder"),
    "users": ("posix", "a child cannot run as another user"),
}
"""The systems that have a feature (`linux`, or `posix` for Linux and macOS), and what happens without it."""

KILL: Final = 9
TERM: Final = 15
"""Plain numbers: `signal.SIGKILL` is missing on Windows."""

RAW: Final[int] = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
"""Flags for every opened file: children do not inherit it, and Windows does not translate line ends."""
NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe without a writer does not block."""
NO_TERMINAL: Final[int] = getattr(os, "O_NOCTTY", 0)
FOLDER: Final[int] = getattr(os, "O_DIRECTORY", 0)


class UnknownFeature(CallerError, ValueError):
    """HANDRAIL_WITHOUT names something that is not a feature."""


class Unsupported(MachineError, OSError):
    """This system lacks something that cannot be replaced. `strerror` is the whole sentence."""

    def __init__(self, problem: str) -> None:
        import errno

        super().__init__(errno.ENOTSUP, problem)

    def __str__(self) -> str:
        return self.strerror or ""


@cache
def has(feature: str) -> bool:
    """Whether this system has a feature and HANDRAIL_WITHOUT does not take it away. Raises UnknownFeature."""
    return FEATURES[feature][0] in _kinds() and not {feature, FEATURES[feature][0]} & taken_away()


def require(feature: str, what: str) -> None:
    """Raise Unsupported, in one sentence about `what`, if this system lacks the feature."""
    if not has(feature):
        raise Unsupported(f"{what} is not supported on {_name()}; use WSL 2 for it")


def exit_without(feature: str, what: str) -> None:
    """End this process with code 2 and one sentence about `what`, if this system lacks the feature."""
    try:
        require(feature, what)
    except Unsupported as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None


@cache
def taken_away() -> frozenset[str]:
    names = frozenset(os.environ.get(WITHOUT, "").replace(",", " ").split())
    if unknown := names - set(FEATURES) - {"linux", "posix"}:
        raise UnknownFeature(f"{WITHOUT}: unknown feature {min(unknown)!r}; known: linux, posix, {', '.join(FEATURES)}")
    return names | {"linux"} if "posix" in names else names  # what Windows lacks includes what only Linux has


def _kinds() -> frozenset[str]:
    if sys.platform == "win32":
        return frozenset()
    return frozenset({"posix", "linux"}) if sys.platform == "linux" else frozenset({"posix"})


def _name() -> str:
    return "Windows" if sys.platform == "win32" or "posix" in taken_away() else "this system"


def is_macos() -> bool:
    """Whether files are where macOS has them."""
    return sys.platform == "darwin"


# Processes


@cache
def process_folder() -> str:
    """The folder that lists processes; "" on systems without one."""
    return "/proc" if has("proc") and os.path.isdir("/proc/self") else ""


def die_with_parent(command: Sequence[str], *, by: str = "KILL") -> list[str]:
    """The command, run by setpriv if that is installed: then the kernel signals the child when its parent dies."""
    from shutil import which

    setpriv = which("setpriv") if has("parent_death") else None
    return [setpriv, "--pdeathsig", by, "--", *command] if setpriv else list(command)


def child_group() -> dict[str, Any]:
    """Arguments of Popen that make a child the leader of a new process group."""
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True} if has("groups") else {}


def signal_group(leader: int, number: int) -> bool:
    """Signal a process group. Returns False on systems without groups. Raises OSError."""
    if sys.platform != "win32" and has("groups"):
        os.killpg(leader, number)
        return True
    return False


def taskkill(leader: int) -> bool:
    """Start the program of Windows that ends a process with its descendants. Returns whether there is one."""
    import subprocess
    from shutil import which

    program = which("taskkill")
    if program is None:
        return False
    nothing = subprocess.DEVNULL
    subprocess.Popen([program, "/T", "/F", "/PID", str(leader)], stdin=nothing, stdout=nothing, stderr=nothing)
    return True


def signal_process(pid: int, number: int, is_meant: Callable[[], bool]) -> bool:
    """Signal a process if `is_meant` says that it is the right one. Returns whether it was signalled.

    A pidfd keeps the process from being replaced by another one with the same number after that check.
    """
    try:
        if sys.platform != "linux" or not has("pidfd"):
            if found := is_meant():
                os.kill(pid, number)
            return found
        import signal

        handle = os.pidfd_open(pid)
        try:
            if found := is_meant():
                signal.pidfd_send_signal(handle, number)
            return found
        finally:
            os.close(handle)
    except OSError:
        return False


def user_exists(name: str) -> bool:
    """Whether the machine has a user of this name. Raises Unsupported."""
    require("users", "running a child as another user")
    if sys.platform != "win32":
        import pwd

        try:
            pwd.getpwnam(name)
        except KeyError:
            return False
    return True


# Files and memory


def grow_pipe(descriptor: int, size: int) -> None:
    """Let a pipe hold this many bytes, where the system can. Fewer, larger reads cost less."""
    if sys.platform == "linux" and has("pipe_size"):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)


def file_system_type(place: int | str) -> int:
    """The number of the file system that an open file, or the file of a path, lies on; 0 if it is unknown."""
    if sys.platform != "linux":
        return 0
    import ctypes

    # The first field of struct statfs is the type; the rest is never read, but must have room.
    room = (ctypes.c_long * 64)()
    if isinstance(place, int):
        failed = libc().fstatfs(ctypes.c_int(place), room)
    else:
        failed = libc().statfs(ctypes.c_char_p(os.fsencode(place)), room)
    return 0 if failed else room[0]


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Read from a position. Without `pread` this moves the position of the descriptor."""
    if sys.platform != "win32" and has("folder_descriptors"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def is_junction(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a junction, the second kind of link to folders that Windows has."""
    if sys.platform != "win32":
        return False
    import stat

    try:
        return os.lstat(path).st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT
    except OSError:
        return False


def is_writable_by_others(status: os.stat_result) -> bool:
    """Whether other users can write a file, or own it."""
    if sys.platform != "win32" and has("owners"):
        return status.st_uid != os.geteuid() or bool(status.st_mode & 0o022)
    return False


def is_readable_by_others(status: os.stat_result) -> bool:
    """Whether other users can read a file."""
    return has("owners") and bool(status.st_mode & 0o077)


def seconds_since_boot() -> float:
    """Monotonic seconds, including time suspended where the system counts it."""
    import time

    if sys.platform == "linux" and has("boot_clock"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@cache
def libc() -> ctypes.CDLL:
    """The C library of this process, for system calls that Python does not wrap. Keeps `errno` per thread."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
