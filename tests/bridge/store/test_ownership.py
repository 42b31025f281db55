"""A data folder is for one process, and a second one is told who has it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.bridge.errors import DataFolderTaken
from handrail.bridge.store.ownership import DataFolder

HOLD = """
import sys
from pathlib import Path
from handrail.bridge.store.ownership import DataFolder
folder = DataFolder(Path(sys.argv[1]))
print("mine", flush=True)
sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "mine\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def test_a_second_process_is_told_who_has_the_folder(tmp_path: Path):
    child = holder(tmp_path / "data")
    try:
        with pytest.raises(DataFolderTaken, match=f"in use by process {child.pid}; stop that process"):
            DataFolder(tmp_path / "data")
    finally:
        end(child)


def test_a_folder_is_free_as_soon_as_its_process_is_dead(tmp_path: Path):
    end(holder(tmp_path / "data"))
    folder = DataFolder(tmp_path / "data")
    assert (tmp_path / "data" / "lock").read_text() == f"process {os.getpid()}"
    folder.close()


def test_a_folder_that_was_closed_can_be_taken_again(tmp_path: Path):
    DataFolder(tmp_path).close()
    DataFolder(tmp_path).close()


def test_only_the_owner_can_look_into_the_folder(tmp_path: Path):
    (tmp_path / "data").mkdir(mode=0o755)
    DataFolder(tmp_path / "data").close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "lock").stat().st_mode) == 0o600


def test_a_child_of_the_holder_does_not_hold_it(tmp_path: Path):
    folder = DataFolder(tmp_path)
    child = subprocess.Popen(["/bin/sleep", "60"], close_fds=False)
    folder.close()
    try:
        DataFolder(tmp_path).close()
    finally:
        child.kill()
        child.wait()
