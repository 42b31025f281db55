"""What this process holds is its own. In: nothing. Out: others of the same user can no longer read its memory.

A session's tools run as the same user as the server. By what the system allows, they could read the environment with
which the server was started, its memory and its open files through /proc, or steer it as a debugger does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

__all__ = ["keep_memory_private"]

_SET_DUMPABLE: Final = 4
OPEN: Final = "HANDRAIL_DEBUGGABLE"
"""With this variable the process stays open to debuggers, and to those who measure it."""


def keep_memory_private(environment: Mapping[str, str] = os.environ) -> bool:
    """From now on, and without a core file if it falls. Out: whether that was done; not every system can."""
    if sys.platform != "linux" or environment.get(OPEN):
        return False
    from handrail.files.libc import libc

    return libc().prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0
