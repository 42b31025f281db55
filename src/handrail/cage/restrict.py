"""What the calling thread gives up before it starts a caged command: privileges, files, signals and system calls.

Every step binds one thread and what it starts, never the rest of the process. None of them can be undone.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

from handrail.cage.landlock import restrict_files
from handrail.platform import libc

__all__ = ["restrict_thread"]

_SET_SECUREBITS: Final = 28
_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP: Final = 22
_FILTER: Final = 2
_ROOT_IS_ORDINARY: Final = 0b101111
"""Securebits: user 0 gains no capabilities by exec or by changing its id, and this is locked."""
_CAPABILITY_VERSION: Final = 0x20080522
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def restrict_thread(rules: int, program: bytes, witness: int = 0) -> bool:
    """Restrict the calling thread with a Landlock ruleset and a seccomp filter. Raises OSError if the kernel refuses.

    `witness` is a process outside the cage which the thread may signal until now. Returns whether it was seen that the
    thread no longer can, which proves that its signals stay inside the cage.
    """
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _drop_capabilities()
    could_signal = witness > 0 and _can_signal(witness)
    restrict_files(rules)
    confined = could_signal and not _can_signal(witness)
    loaded = _Program(len(program) // 8, program)
    _prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(loaded))
    return confined


def _can_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _drop_capabilities() -> None:
    """Drop all capabilities of the thread. With `no_new_privs`, exec adds none to an empty set, not even for user 0."""
    libc().prctl(_SET_SECUREBITS, _ROOT_IS_ORDINARY, 0, 0, 0)  # ordinary users may not, and need not, do this
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # By number: the C library lacks a function for it.
    _check(libc().syscall(ctypes.c_long(_CAPSET[os.uname().machine]), header, (ctypes.c_uint32 * 6)()))


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    _check(libc().prctl(ctypes.c_int(option), *padded))


def _check(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
