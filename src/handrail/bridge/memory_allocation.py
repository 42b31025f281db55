"""Memory tuning of the server process: malloc and the garbage collector.

Pipes and sockets are read into large buffers of which often little is kept. If glibc raises its mmap threshold, as it
does by itself, these buffers come from the heap; the kept parts then fragment it, and the heap grows for ever.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

__all__ = ["release_large_blocks", "tune_gc"]

_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of mallopt. Setting it disables the automatic adjustment."""
LARGE: Final = 128 * 1024
THRESHOLDS: Final = (20_000, 10, 20)


def release_large_blocks() -> bool:
    """Allocate large blocks with mmap, so that freeing them returns memory. Returns whether libc supports it."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_THRESHOLD, LARGE))
    except (AttributeError, OSError):  # not glibc
        return False


def tune_gc() -> None:
    """Exclude the objects of the started server from collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
