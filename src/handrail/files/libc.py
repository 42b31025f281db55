"""The C library of this process, for system calls that Python does not wrap."""

from __future__ import annotations

import ctypes
from functools import cache

__all__ = ["libc"]


@cache
def libc() -> ctypes.CDLL:
    """Loaded once; the error number of a call is kept per thread."""
    return ctypes.CDLL(None, use_errno=True)
