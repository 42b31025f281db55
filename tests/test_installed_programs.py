"""Executables of an installation outside of a virtual environment: the layouts of pip with a system Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import handrail

LAYOUTS = {
    "Debian's pip": ("lib/python3.13/dist-packages", "bin"),
    "pip install --user": ("home/.local/lib/python3.13/site-packages", "home/.local/bin"),
    "pip install --target": ("packages", "packages/bin"),
}


@pytest.mark.parametrize(("packages", "scripts"), LAYOUTS.values(), ids=LAYOUTS)
def test_scripts_are_found_where_pip_writes_them(packages: str, scripts: str, tmp_path: Path):
    python, site, agent = tmp_path / "usr/python3", tmp_path / packages, tmp_path / scripts / "handrail-agent"
    for folder in (python.parent, site, agent.parent):
        folder.mkdir(parents=True, exist_ok=True)
    python.symlink_to(os.path.realpath(sys.executable))
    (site / "handrail").symlink_to(Path(handrail.__file__).parent)
    agent.touch(mode=0o755)
    libraries = [str(site), *(path for path in sys.path if path.endswith("site-packages"))]
    environment = {"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(libraries)}
    program = "from handrail.model_access.choice import agent_path; print(agent_path())"
    found = subprocess.run([python, "-S", "-c", program], env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == str(agent), found.stderr
