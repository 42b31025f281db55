"""The built wheel and source distribution in fresh environments, with an empty home and without Node.js.

`make dist` builds them and runs this with the Python of the checkout, `make install-test` with every Python from 3.11
to 3.14 that is found. The times and sizes are printed with `-rP`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.architecture.repository import ROOT
from tests.cli.served import answers, serving

DIST = ROOT / "dist"
PYTHONS = os.environ.get("HANDRAIL_PYTHONS", sys.executable).split()
UV = Path(sys.executable).with_name("uv")
CACHE = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True).stdout.strip()
"""The cache of the person who runs this, because a test has an empty home."""
PATIENCE = 300
pytestmark = pytest.mark.wheel


def one(pattern: str) -> Path:
    """The file of this kind in dist/."""
    [found] = DIST.glob(pattern)
    return found


def uv(*arguments: object) -> None:
    command = [UV, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def without_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with the programs of a small machine: no Node.js, no npm, no claude."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("dirname", "env", "git", "realpath", "sh"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", CACHE)


def serves_a_turn(program: list[str], folder: Path) -> str:
    """Start the server, load the page, run one turn, stop. Returns the seconds until the link and until the answer."""
    began = time.monotonic()
    with serving(folder, program=program) as server:
        linked = time.monotonic() - began
        with server.browser() as client:
            assert server.lets_in(client)
            assert "/assets/" in client.get("/").text
            events = asyncio.run(answers(server, client, folder))
        answered = time.monotonic() - began
        assert [one["data"]["is_error"] for one in events if one["data"].get("type") == "result"] == [False]
        assert server.ends() == (0, "")
    return f"{linked:.1f} s to the link, {answered:.1f} s to the end of the first turn"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_plain_wheel_serves_a_page_and_a_turn(python: str, tmp_path: Path, without_node: None):
    began = time.monotonic()
    uv("venv", "--quiet", "--python", python, tmp_path / "venv")
    uv("pip", "install", "--quiet", "--python", tmp_path / "venv", one("*.whl"))
    installed = time.monotonic() - began
    size = sum(path.stat().st_size for path in (tmp_path / "venv").rglob("*") if path.is_file())
    (project := tmp_path / "project").mkdir()
    served = serves_a_turn([str(tmp_path / "venv/bin/handrail")], project)
    print(f"{python}: {installed:.1f} s to install, {size / 1e6:.0f} MB, {served}")


def test_the_wheel_serves_with_uvx(tmp_path: Path, without_node: None):
    (project := tmp_path / "project").mkdir()
    uvx = [UV, "tool", "run", "--quiet", "--python", sys.executable, "--from", one("*.whl"), "handrail"]
    print("uvx:", serves_a_turn(list(map(str, uvx)), project))


def test_the_source_distribution_builds_without_node(tmp_path: Path, without_node: None):
    uv("build", "--quiet", "--wheel", "--out-dir", tmp_path / "built", one("*.tar.gz"))
    [built] = (tmp_path / "built").glob("*.whl")
    assert built.name == one("*.whl").name
    assert sorted(ZipFile(built).namelist()) == sorted(ZipFile(one("*.whl")).namelist())
    print(f"wheel {one('*.whl').stat().st_size:,} bytes, sdist {one('*.tar.gz').stat().st_size:,} bytes")
