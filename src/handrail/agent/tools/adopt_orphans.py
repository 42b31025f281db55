"""Replaces itself by a program that adopts the orphans among its descendants.

Without this, a process whose parent has exited belongs to the agent, and nothing shows which command started it. Run as
a script with the program and its arguments, because only a process itself can become a subreaper; the attribute
survives exec. Imports only the standard library.
"""

from __future__ import annotations

import ctypes
import os
import sys

__all__: list[str] = []

_SET_CHILD_SUBREAPER = 36

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - the command runs in place of this
