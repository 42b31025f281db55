"""The folders that the path cases assume, built below a folder of the test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.paths.matching import Anchors, Resolved

PLAIN_FILES = [
    "proj/src/app.ts",
    "proj/src/deep/x.ts",
    "proj/vendor/pkg/src/lib.js",
    "proj/a/b/.env",
    "proj/.git/config",
    "proj/-rf",
    "home/.ssh/id_rsa",
    "proj_evil/s",
]
LINKS = {
    "proj/link": "{w}/home",
    "proj/key": "{w}/home/.ssh/id_rsa",
    "proj/dangling": "{w}/home/.bashrc",
    "proj/loop1": "loop2",
    "proj/loop2": "loop1",
    "proj/in": "src/deep",
}


class Layout(NamedTuple):
    """`/w` of the cases is `w` here."""

    w: str
    cwd: str
    anchors: Anchors

    def path(self, asked: str) -> str:
        """A path of a case as it is here."""
        return asked.replace("/w/", f"{self.w}/")

    def resolve(self, asked: str) -> Resolved:
        """What the disk says about a path of a case."""
        return Disk(self.anchors).resolve(self.path(asked))


def build_layout(root: Path) -> Layout:
    """Build the layout. Tests that change it must build their own."""
    w = os.path.realpath(root / "w")
    for name in PLAIN_FILES:
        file = Path(w, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    for name, target in LINKS.items():
        os.symlink(target.format(w=w), Path(w, name))
    os.link(f"{w}/home/.ssh/id_rsa", f"{w}/proj/hard")
    os.mkfifo(f"{w}/proj/fifo")
    return Layout(w, f"{w}/proj", anchors_of(f"{w}/proj", home=f"{w}/home"))
