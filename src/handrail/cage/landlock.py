"""Landlock by plain system calls: a thread gives up access for itself and for all processes that it starts."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from functools import cache
from typing import Final

from handrail.platform import RAW, has, libc

__all__ = ["FIRST_ABI", "SIGNAL_ABI", "landlock_abi", "restrict_files", "ruleset"]

_CREATE: Final = 444
_ADD_RULE: Final = 445
_RESTRICT: Final = 446
_GET_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_PATH: Final[int] = getattr(os, "O_PATH", 0)  # missing on macOS, which has no Landlock either

FIRST_ABI: Final = 3
"""Older kernels (before 6.2) cannot refuse to truncate files, so they count as having no Landlock."""
_NETWORK_ABI: Final = 4
_DEVICE_ABI: Final = 5
SIGNAL_ABI: Final = 6

_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = 1 << 3
_TRUNCATE: Final = 1 << 14
_DEVICE_IOCTL: Final = 1 << 15
_ALL_OF_ABI_3: Final = (1 << 15) - 1
_ON_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_IOCTL
_READ: Final = _EXECUTE | _READ_FILE | _READ_FOLDER
_TCP: Final = 0b11
_SCOPED: Final = 0b11
"""Abstract UNIX sockets and signals stay inside the cage."""


class _Attributes(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _call(number: int, *arguments: object) -> int:
    found: int = libc().syscall(ctypes.c_long(number), *arguments)
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


@cache
def landlock_abi() -> int:
    """The version of Landlock that this kernel has; 0 if Landlock is missing or switched off."""
    if not has("landlock"):
        return 0
    try:
        return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_GET_VERSION))
    except OSError:
        return 0


def ruleset(
    *, read: Iterable[str], names: Iterable[str] = (), write: Iterable[str], devices: Iterable[str], network: bool
) -> int:
    """Make a ruleset, which is a file descriptor that any number of threads may restrict themselves with.

    read      files and folders to read and execute
    names     folders of which, and below which, only the names are listed
    write     folders to read and change
    devices   files to read and write, but not to execute
    network   TCP is not restricted

    Paths that do not exist are skipped. Raises OSError if the kernel refuses.
    """
    abi = landlock_abi()
    handled = _ALL_OF_ABI_3 | (_DEVICE_IOCTL if abi >= _DEVICE_ABI else 0)
    attributes = _Attributes(handled, 0 if network or abi < _NETWORK_ABI else _TCP, _SCOPED if abi >= SIGNAL_ABI else 0)
    size = 24 if abi >= SIGNAL_ABI else 16 if abi >= _NETWORK_ABI else 8
    rules = _call(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        grant = _Grant(rules)
        for paths, access in (
            (read, _READ),
            (names, _READ_FOLDER),
            (write, handled),
            (devices, _READ_FILE | _WRITE_FILE | _TRUNCATE),
        ):
            for path in paths:
                grant(path, access & handled)
    except BaseException:
        os.close(rules)
        raise
    return rules


class _Grant:
    """Adds rules to a ruleset. A command has dozens of them, so what they share is made once."""

    def __init__(self, rules: int) -> None:
        self._rule = _Beneath()
        kind, flags = ctypes.c_int(_PATH_BENEATH), ctypes.c_uint32(0)
        self._arguments = (ctypes.c_int(rules), kind, ctypes.byref(self._rule), flags)

    def __call__(self, path: str, access: int) -> None:
        try:
            parent = os.open(path, _PATH | RAW)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
                return
            raise
        try:
            # The kernel rejects a rule that gives a file the rights of a folder.
            is_folder = stat.S_ISDIR(os.fstat(parent).st_mode)
            self._rule.access = access if is_folder else access & _ON_FILES
            self._rule.parent = parent
            _call(_ADD_RULE, *self._arguments)
        finally:
            os.close(parent)


def restrict_files(rules: int) -> None:
    """Restrict the calling thread for good. It must have set `no_new_privs` before."""
    _call(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
