"""A program that has nothing of root's power over other processes. In: its command. Out: the command to run it so.

Root may read everything of everybody, which says nothing about what others may. As anybody else this changes nothing.
"""

from __future__ import annotations

import sys

_GIVE_UP = """
import ctypes, os, sys
for power in (19, 21, 38):  # to trace, to administer, to measure
    ctypes.CDLL(None).prctl(24, power, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def powerless(*command: str) -> list[str]:
    """The command, for `subprocess`."""
    return [sys.executable, "-c", _GIVE_UP, *command]
