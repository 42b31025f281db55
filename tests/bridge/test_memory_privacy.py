"""X02: other processes of the same user cannot read the memory of the server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from handrail.bridge.process_memory import keep_memory_private
from tests.bridge.powerless import powerless

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

PARENT = """
import subprocess, sys
from handrail.bridge.process_memory import keep_memory_private
if sys.argv[1] == "private":
    assert keep_memory_private()
sys.exit(subprocess.run(["/bin/sh", "-c", f"cat /proc/$PPID/{sys.argv[2]}"], stdout=subprocess.DEVNULL).returncode)
"""


@pytest.mark.parametrize("file", ["environ", "maps", "mem"])
def test_child_cannot_read_the_memory_of_its_parent(file: str):
    done = subprocess.run(
        powerless(sys.executable, "-c", PARENT, "private", file), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, "ermission denied" in done.stderr) == (1, True), done.stderr


def test_protection_can_be_disabled_for_debugging():
    assert not keep_memory_private({"HANDRAIL_DEBUGGABLE": "1"})


def test_child_can_read_an_unprotected_parent():
    done = subprocess.run(
        powerless(sys.executable, "-c", PARENT, "open", "environ"), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
