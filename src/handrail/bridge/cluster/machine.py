"""What this machine has to offer. In: nothing. Out: bytes of memory that are free."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_memory"]


def free_memory(told: Path = Path("/proc/meminfo")) -> int:
    """What new processes can have without anything being moved out; 0 where the system does not tell."""
    try:
        lines = told.read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return 0
