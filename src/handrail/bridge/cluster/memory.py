"""The available memory of this machine."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_memory"]


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
