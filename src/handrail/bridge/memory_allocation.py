"""How memory is asked for. In: nothing. Out: large pieces are taken from the system one by one, and given back to it.

Pipes and sockets are read into large pieces, of which often little is kept. Where these are cut from one heap, as the
C library does after a while, what is kept lies between holes, and the heap grows for ever though no more is in use.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

__all__ = ["give_back_large_pieces", "look_for_rubbish_less_often"]

_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of mallopt. What is set by hand no longer moves by itself."""
LARGE: Final = 128 * 1024
SELDOM: Final = (20_000, 10, 20)


def give_back_large_pieces() -> bool:
    """From now on, in this process. Out: whether the C library can do that."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_THRESHOLD, LARGE))
    except (AttributeError, OSError):  # another C library
        return False


def look_for_rubbish_less_often() -> None:
    """What a server holds when it is ready stays, and a list of ten thousand lines is no reason to look through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SELDOM)
