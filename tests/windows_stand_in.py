"""Runs a program in a Python that lacks what Windows lacks: `python windows_stand_in.py PROGRAM ARGUMENTS…`.

Modules (fcntl, pwd …), functions (os.killpg, select.poll …), flags and signals are removed before Handrail is imported,
and `dir_fd`, signal handlers and readers of the event loop fail as they do there. Modules of the standard library that
are loaded already keep copies of `os`, `signal` and `select`, since they are those of Linux. HANDRAIL_WITHOUT=posix
tells Handrail which system this is.
"""

from __future__ import annotations

import asyncio
import asyncio.base_subprocess
import asyncio.unix_events
import importlib.abc
import os
import select
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from typing import Any

MODULES = {"crypt", "fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"}
FUNCTIONS = """
    chown chroot copy_file_range eventfd fchdir fchmod fchown fork forkpty getegid geteuid getgid getgroups getpgid
    getpgrp getpriority getsid getuid killpg lchown lockf memfd_create mkfifo mknod nice openpty pidfd_open
    posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite pwritev sched_getaffinity
    sched_setaffinity sched_yield sendfile set_blocking get_blocking setegid seteuid setgid setpgid setsid setuid splice
    statvfs fstatvfs sysconf tcgetpgrp uname wait wait3 wait4 waitid
""".split()
SIGNALS = "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH".split()
SIGNAL_FUNCTIONS = "alarm pause pidfd_send_signal pthread_kill pthread_sigmask setitimer sigpending sigwait".split()
FLAGS = "CLOEXEC DIRECTORY DSYNC NOATIME NOCTTY NOFOLLOW NONBLOCK PATH SYNC TMPFILE".split()
TAKES_FOLDER = "open stat lstat unlink remove rename replace mkdir rmdir link symlink readlink access".split()


class NoSuchModule(importlib.abc.MetaPathFinder):
    """Refuses the modules that Windows lacks."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname in MODULES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def copies(module: types.ModuleType) -> None:
    """Give every loaded module that uses `module` its own copy."""
    copied = types.ModuleType(module.__name__)
    copied.__dict__.update(module.__dict__)
    for other in list(sys.modules.values()):
        for name, value in list(getattr(other, "__dict__", {}).items()):
            if value is module and other is not sys.modules["__main__"]:
                setattr(other, name, copied)


def without_folders(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses descriptors of folders."""

    def called(*arguments: Any, **options: Any) -> Any:
        if any(options.get(name) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
            raise NotImplementedError("dir_fd unavailable on this platform")
        return function(*arguments, **options)

    return called


def not_implemented(*_: object) -> None:
    """As the methods of an event loop on Windows."""
    raise NotImplementedError


def become_windows() -> None:
    """Remove what Windows lacks from this process."""
    for module in (os, signal, select):
        copies(module)
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, NoSuchModule())
    for module, names in (
        (os, [*FUNCTIONS, *(name for name in dir(os) if name.startswith(("W", "P_", "SCHED_", "POSIX_")))]),
        (os, [f"O_{name}" for name in FLAGS]),
        (signal, [*SIGNALS, *SIGNAL_FUNCTIONS]),
        (select, ["poll", "epoll"]),
    ):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in TAKES_FOLDER:
        setattr(os, name, without_folders(getattr(os, name)))
    loop: Any = asyncio.SelectorEventLoop
    loop.add_signal_handler = loop.add_reader = loop.add_writer = not_implemented
    os.environ["HANDRAIL_WITHOUT"] = "posix"


if __name__ == "__main__":
    assert subprocess  # both are loaded before their modules lose anything
    assert tempfile
    become_windows()
    sys.argv = sys.argv[1:]
    exec(compile(sys.argv[0], "<program>", "exec"), {"__name__": "__main__"})
