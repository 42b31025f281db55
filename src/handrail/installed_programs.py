"""Executables that pip installed together with this package: `handrail-agent`, `rg`, `nats-server`."""

from __future__ import annotations

import os
import shutil
import sys

__all__ = ["find_program"]


def find_program(name: str) -> str | None:
    """The executable that belongs to this installation, else the one on PATH, else None.

    Scripts are beside the Python of a virtual environment. A system Python has them elsewhere: Debian's pip writes to
    /usr/local/bin, `pip install --user` below ~/.local, and `pip install --target` beside the packages.
    """
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(packages)))  # <prefix>/lib/python3.X/site-packages
    folders = os.path.dirname(sys.executable), os.path.join(prefix, "bin"), os.path.join(packages, "bin")
    return shutil.which(name, path=os.pathsep.join(folders)) or shutil.which(name)
