"""The memory of the machine, and of the server process: how it is allocated, collected and kept from other processes.

Pipes and sockets are read into large buffers of which often little is kept. If glibc raises its mmap threshold, as it
does by itself, these buffers come from the heap; the kept parts then fragment it, and the heap grows for ever.

The tools of a session run as the same user as the server. Unless the process is protected, they could read its
environment, memory and open files through /proc, or attach to it as a debugger.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from handrail.platform import has, libc

__all__ = ["free_memory", "keep_memory_private", "release_large_blocks", "tune_gc"]

_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of mallopt. Setting it disables the automatic adjustment."""
LARGE: Final = 128 * 1024
THRESHOLDS: Final = (20_000, 10, 20)


def release_large_blocks() -> bool:
    """Allocate large blocks with mmap, so that freeing them returns memory. Returns whether libc supports it."""
    if not has("mallopt"):
        return False
    try:
        return bool(libc().mallopt(_THRESHOLD, LARGE))
    except (AttributeError, OSError):  # not glibc
        return False


def free_memory(source: Path = Path("/proc/meminfo")) -> int:
    """Bytes that new processes can use without swapping; 0 if the system does not say."""
    try:
        lines = source.read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return 0


def tune_gc() -> None:
    """Exclude the objects of the started server from collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


_SET_DUMPABLE: Final = 4
OPEN: Final = "HANDRAIL_DEBUGGABLE"
"""The environment variable that keeps the process open to debuggers and profilers."""


def keep_memory_private(environment: Mapping[str, str] = os.environ) -> bool:
    """Make the process non-dumpable, which also disables core files. Returns whether the system supports it."""
    if not has("private_memory") or environment.get(OPEN):
        return False
    return libc().prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0
