"""Protects the memory of the server process from other processes of the same user.

The tools of a session run as the same user as the server. Without this they could read the server's environment,
memory and open files through /proc, or attach to it as a debugger.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

__all__ = ["keep_memory_private"]

_SET_DUMPABLE: Final = 4
OPEN: Final = "HANDRAIL_DEBUGGABLE"
"""The environment variable that keeps the process open to debuggers and profilers."""


def keep_memory_private(environment: Mapping[str, str] = os.environ) -> bool:
    """Make the process non-dumpable, which also disables core files. Returns whether the system supports it."""
    if sys.platform != "linux" or environment.get(OPEN):
        return False
    from handrail.files.libc import libc

    return libc().prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0
