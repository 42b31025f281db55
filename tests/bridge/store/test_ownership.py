"""The data folder: one process holds it, and another is refused with the name of the holder."""

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
print("locked", flush=True)
sys.stdin.read()
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "locked\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def test_second_process_is_refused_with_the_name_of_the_holder(tmp_path: Path):
    child = start_holder(tmp_path / "data")
    try:
        with pytest.raises(DataFolderTaken, match=f"in use by process {child.pid}"):
            DataFolder(tmp_path / "data")
    finally:
        end(child)


def test_folder_is_free_after_its_holder_was_killed(tmp_path: Path):
    end(start_holder(tmp_path / "data"))
    folder = DataFolder(tmp_path / "data")
    assert (tmp_path / "data" / "lock").read_text() == f"process {os.getpid()}"
    folder.close()


def test_closed_folder_can_be_locked_again(tmp_path: Path):
    DataFolder(tmp_path).close()
    DataFolder(tmp_path).close()


def test_folder_is_private(tmp_path: Path):
    (tmp_path / "data").mkdir(mode=0o755)
    DataFolder(tmp_path / "data").close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "lock").stat().st_mode) == 0o600


def test_child_of_the_holder_does_not_keep_the_lock(tmp_path: Path):
    folder = DataFolder(tmp_path)
    child = subprocess.Popen(["/bin/sleep", "60"], close_fds=False)
    folder.close()
    try:
        DataFolder(tmp_path).close()
    finally:
        child.kill()
        child.wait()
