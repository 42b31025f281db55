"""Opening below a folder in one step. The descriptor cannot be outside of the folder.

`openat2` makes the kernel do it: RESOLVE_BENEATH keeps every step below the folder, RESOLVE_NO_MAGICLINKS blocks the
magic links of /proc. On kernels without the call, `walk_beneath` does the same one name at a time: each is opened from
the folder before it and never through a link, so that no part of the path can be exchanged in between.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Final, Protocol

from handrail.platform import has, libc

__all__ = ["Opener", "kernel_beneath", "opener", "walk_beneath"]

_OPENAT2: Final = 437
_NO_MAGIC_LINKS: Final = 0x02
_NO_LINKS: Final = 0x04
_BENEATH: Final = 0x08
_TRIES: Final = 64
_MOST_LINKS: Final = 40
_ALWAYS: Final = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Opening a pipe or a terminal does not block, and children do not inherit the descriptor."""
_STEP: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Opener(Protocol):
    """Opens a path below a folder. Raises OSError: EXDEV if it leads out, ELOOP at a link that is not followed."""

    def __call__(self, folder: int, path: str, flags: int, *, follow_links: bool, mode: int = 0) -> int: ...


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def kernel_beneath(folder: int, path: str, flags: int, *, follow_links: bool, mode: int = 0) -> int:
    """Open with `openat2`."""
    if "\x00" in path:
        # C would stop reading there, and open something else.
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    how = _OpenHow(flags | _ALWAYS, mode, _BENEATH | _NO_MAGIC_LINKS | (0 if follow_links else _NO_LINKS))
    for _ in range(_TRIES):
        found = libc().syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if found >= 0:
            return found
        # EAGAIN: another process moved a folder while `..` was being resolved, so the kernel could not be sure.
        if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


def walk_beneath(folder: int, path: str, flags: int, *, follow_links: bool, mode: int = 0) -> int:
    """Open name by name, for kernels without `openat2`."""
    if path.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    walk = _Walk(folder, follow_links=follow_links)
    try:
        return walk.open(path, flags, mode)
    finally:
        walk.close()


class _Walk:
    """The open folders from the first to the current one: `..` returns to one of them, never by name."""

    def __init__(self, folder: int, *, follow_links: bool) -> None:
        self._folders = [os.dup(folder)]
        self._links_left = _MOST_LINKS if follow_links else 0

    def close(self) -> None:
        for descriptor in self._folders:
            os.close(descriptor)

    def open(self, path: str, flags: int, mode: int) -> int:
        """Open the last name with these flags, after going through all the others."""
        names = path.split("/")[::-1]
        while True:
            name = names.pop() or "."
            try:
                if not names:
                    return self._last(name, flags, mode)
                self._step(name)
            except OSError as error:
                # ELOOP and ENOTDIR may both mean a link: the text of the link takes the place of its name.
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                names += self._target(name, error).split("/")[::-1]

    def _last(self, name: str, flags: int, mode: int) -> int:
        if name == "..":
            self._step(name)
            name = "."
        return os.open(name, flags | os.O_NOFOLLOW | _ALWAYS, mode, dir_fd=self._folders[-1])

    def _step(self, name: str) -> None:
        if name == ".":
            return
        if name == "..":
            if len(self._folders) == 1:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
            os.close(self._folders.pop())
        else:
            self._folders.append(os.open(name, _STEP, dir_fd=self._folders[-1]))

    def _target(self, name: str, why: OSError) -> str:
        """The text of a link. Anything else fails with the original error."""
        try:
            target = os.readlink(name, dir_fd=self._folders[-1])
        except OSError:
            raise why from None
        if not self._links_left:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
        self._links_left -= 1
        return target


@cache
def opener() -> Opener:
    """The best implementation for this kernel; a sandbox that forbids `openat2` counts as a kernel without it."""
    if not has("openat2"):
        return walk_beneath
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(kernel_beneath(root, ".", os.O_RDONLY | os.O_DIRECTORY, follow_links=True))
    except OSError:
        return walk_beneath
    finally:
        os.close(root)
    return kernel_beneath
