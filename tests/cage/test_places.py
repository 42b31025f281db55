"""What a reading command may read, and what it may not."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest

from handrail.cage import places
from handrail.cage.base import CageError
from handrail.cage.places import reading_limits, writing_limits
from tests.cage.caged import Cage, needs_guard


def readable(home: Path, path: str) -> tuple[str, ...]:
    return reading_limits(["/w"], home=str(home), environment={"PATH": path}, temporary="/t").read


@pytest.mark.parametrize("path", ["", ".", "/", "bin", "{home}", "{home}/..", "{home}/link"])
def test_path_never_opens_home(tmp_path: Path, path: str):
    home = tmp_path / "home"
    home.mkdir()
    (home / "link").symlink_to(home)
    found = readable(home, path.format(home=home))
    assert not [folder for folder in found if os.path.realpath(folder) in ("/", str(home), str(tmp_path), os.getcwd())]


def test_folders_beside_programs_are_readable_outside_home(tmp_path: Path):
    home = tmp_path / "home"
    for name in (
        "node/bin",
        "node/lib",
        "node/data",
        "strange",
        "lib",
        "home/.local/share",
        "home/tools/bin",
        "home/tools/share",
    ):
        (tmp_path / name).mkdir(parents=True)
    found = readable(home, f"{tmp_path}/node/bin:{home}/.local/bin:{home}/tools/bin:{tmp_path}/strange")
    inside = {os.path.relpath(path, tmp_path) for path in found if path.startswith(str(tmp_path))}
    assert inside == {"node/bin", "node/lib", "strange", "home/tools/bin"}


def test_hidden_folders_are_left_out(cage: Cage):
    (cage.project / "a" / "secret").mkdir(parents=True)
    (cage.project / "a" / "open").mkdir()
    cage.deny_reading("secret")
    found = reading_limits([str(cage.project)], home=str(cage.home), environment={}, temporary="/t", hidden=cage.hidden)
    inside = {path for path in found.read if path.startswith(str(cage.project))}
    assert inside == {str(cage.project / "a" / "open"), str(cage.project / "inside.txt")}
    assert set(found.names) == {str(cage.project), str(cage.project / "a")}


def test_too_many_files_to_compare_are_an_error(cage: Cage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(places, "_MOST_ENTRIES", 10)
    for number in range(11):
        (cage.project / str(number)).touch()
    cage.deny_reading("secret")
    with pytest.raises(CageError, match="more than 10 files"):
        reading_limits([str(cage.project)], home=str(cage.home), environment={}, temporary="/t", hidden=cage.hidden)


def test_a_session_reads_everything_and_changes_its_folders():
    found = writing_limits(["/w"], temporary="/t", network=False)
    assert found.read == ("/",)
    assert {"/w", "/t"} <= set(found.write)
    assert found.builds
    assert not found.network


@needs_guard
@pytest.mark.parametrize(
    "command",
    [
        "git --version",
        "node -e 'console.log(1 + 1)'",
        "node --version",
        "perl -e 'print 2'",
        "rg --version",
        "java -version",
        "gcc --version",
        "cargo --version",
        f"{sys.executable} -c 'import ssl, sqlite3, ctypes; print(2)'",
        "diff <(sort inside.txt) <(sort inside.txt)",
        "find . -name '*.txt' | xargs wc -l",
        "jq --version",
        "make --version",
        "awk 'BEGIN { print 1 }' | sed -n p | sort | uniq -c | tail -1",
        "timeout 5 true && nice -n 5 true",
        "ls -la && du -sh . && stat inside.txt && file inside.txt",
    ],
)
async def test_programs_work_in_the_cage(cage: Cage, command: str):
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"{command.split()[0]} is not installed")
    cage.home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # where toolchains are installed
    cage.environment = {"PATH": os.environ["PATH"], "HOME": str(cage.home)}
    ran = await cage.run(command)
    assert ran.code == 0, ran.output
    assert "denied" not in ran.output
    assert "not permitted" not in ran.output
