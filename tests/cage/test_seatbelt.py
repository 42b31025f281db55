"""The Seatbelt profile as text; macOS is needed to apply it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from handrail.cage.base import CageError, Limits, Start
from handrail.cage.seatbelt import SeatbeltGuard, profile


def lines(limits: Limits) -> list[str]:
    return profile(limits).splitlines()


def test_everything_else_is_denied():
    assert lines(Limits())[:2] == ["(version 1)", "(deny default)"]
    assert not any("network" in line or "file-write*" in line for line in lines(Limits()))


def test_folders_are_granted_by_their_real_path(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    found = lines(Limits(read=(str(tmp_path / "link"),), write=(str(tmp_path / "own"),), devices=("/dev/null",)))
    real = os.path.realpath(tmp_path)
    assert f'(allow file-read* process-exec (subpath "{real}/target"))' in found
    assert f'(allow file-read* file-write* process-exec (subpath "{real}/own"))' in found
    assert '(allow file-read* file-write-data (literal "/dev/null"))' in found


def test_a_path_cannot_end_its_string(tmp_path: Path):
    name = 'a") (allow default) ("\\'
    found = [line for line in lines(Limits(read=(f"{tmp_path}/{name}",))) if "subpath" in line]
    assert found == [
        f'(allow file-read* process-exec (subpath "{os.path.realpath(tmp_path)}/a\\") (allow default) (\\"\\\\"))'
    ]


def test_names_of_split_folders_are_listed_without_their_files(tmp_path: Path):
    assert f'(allow file-read-data (literal "{os.path.realpath(tmp_path)}"))' in lines(Limits(names=(str(tmp_path),)))


def test_builds_and_network_are_opened_on_request():
    assert any("file-write-mode" in line for line in lines(Limits()))
    opened = lines(Limits(builds=True, network=True))
    assert "(allow network*)" in opened
    assert not any("file-write-mode" in line for line in opened)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has sandbox-exec")
async def test_command_is_not_run_without_the_program(tmp_path: Path):
    guard = SeatbeltGuard()
    assert "sandbox-exec" in guard.problem()
    with pytest.raises(CageError):
        await guard.start(Start(["touch", "made"], str(tmp_path), {}, 1), Limits())
    assert os.listdir(tmp_path) == []
