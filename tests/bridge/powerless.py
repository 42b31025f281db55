"""Runs a program without root's capabilities over other processes.

Root can read the memory of every process, so a privacy test run as root would prove nothing. For other users this has
no effect.
"""

from __future__ import annotations

import sys

_DROP_CAPABILITIES = """
import ctypes, os, sys
for capability in (19, 21, 38):  # CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def powerless(*command: str) -> list[str]:
    """The command to pass to `subprocess`."""
    return [sys.executable, "-c", _DROP_CAPABILITIES, *command]
