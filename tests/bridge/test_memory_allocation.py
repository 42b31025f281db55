"""Large blocks are returned to the system, so that a long-running server does not grow."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
from handrail.bridge.process_memory import release_large_blocks
assert release_large_blocks()
def heap():
    lines = open("/proc/self/maps").read().splitlines()
    start, end = next(line.split()[0].split("-") for line in lines if line.endswith("[heap]"))
    return int(end, 16) - int(start, 16)
large = [bytes(200_000) for _ in range(5)]  # freeing one raises the mmap threshold of glibc, unless it is set
del large
before = heap()
large = [bytes(200_000) for _ in range(100)]
print(heap() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_large_blocks_are_not_allocated_on_the_heap():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000


def test_objects_of_a_ready_server_are_frozen_for_the_gc():
    program = "from handrail.bridge.process_memory import *; tune_gc()"
    program += "; import gc; print(gc.get_freeze_count() > 1000, gc.get_threshold()[0] > 700, gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True\n"
