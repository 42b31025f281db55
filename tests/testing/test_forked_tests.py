"""The plugin that runs tests in forked processes reports every test once, with its output, even if a process dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

GOOD = """
def test_first(tmp_path):
    print("hidden")

def test_second(tmp_path):
    assert list(tmp_path.parent.iterdir())
"""

DIES = """
import os

def test_before():
    pass

def test_dies():
    os._exit(0)

def test_after():
    print("shown with the failure")
    raise ValueError("of this test")
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tools.forked_tests", "-p", "no:cacheprovider", "--forks", "2",
         "--rootdir", str(folder), "-c", os.devnull, "--basetemp", str(folder / "temporary"), *arguments, str(folder)],
        cwd=REPOSITORY, capture_output=True, text=True,
    )  # fmt: skip


def test_each_test_is_reported_once_and_a_dead_process_is_replaced(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"test_good_{number}.py").write_text(GOOD)
    (tmp_path / "test_dies.py").write_text(DIES)
    done = run(tmp_path)
    assert done.returncode == 1
    assert "the process that ran test_dies.py::test_dies died" in done.stdout
    assert "shown with the failure" in done.stdout
    assert "hidden" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("2 failed, 7 passed")


def test_the_first_failure_ends_the_run_on_request(tmp_path: Path) -> None:
    (tmp_path / "test_dies.py").write_text(DIES)
    done = run(tmp_path, "-x")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("1 failed, 1 passed")
