"""A project folder and a home for tests, with the files of a repository or a user."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from handrail.settings import Loaded, Standing, accept, load, look


class Folder:
    """A project folder beside a config home; nothing of the machine is read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home" / ".claude"
        self.path = root / "project"
        self.policy = root / "etc"
        for folder in (self.home, self.path, self.policy):
            folder.mkdir(parents=True)

    def put(self, name: str, content: str | bytes | dict[str, Any], *, mode: int = 0o644) -> Path:
        """Write a file of the project; an object becomes JSON, indented."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_bytes(content))
        path.chmod(mode)
        return path

    def put_user(self, content: str | bytes | dict[str, Any]) -> Path:
        """Write the user's own settings."""
        path = self.home / "settings.json"
        path.write_bytes(_bytes(content))
        return path

    def put_policy(self, content: dict[str, Any], name: str = "managed-settings.json") -> Path:
        """Write settings of the organisation."""
        path = self.policy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_bytes(content))
        return path

    def load(self, flag: str | None = None) -> Loaded:
        """What is in force here."""
        home, user_home = str(self.home), str(self.home.parent)
        return load(str(self.path), home=home, user_home=user_home, policy=str(self.policy), flag=flag)

    def look(self) -> Standing:
        """The trust in the folder."""
        return look(str(self.path), str(self.home))

    def accept(self) -> None:
        """Say yes to what is in it now."""
        accept(self.look().contents, str(self.home))

    def rules(self, behavior: str) -> list[str]:
        """The rules of one behavior in force, as text."""
        return [str(rule.rule) for rule in self.load().settings.rules if rule.behavior == behavior]


def _bytes(content: str | bytes | dict[str, Any]) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content, indent=2)).encode()


def flip_a_byte(path: Path) -> None:
    """Change one byte of a file and nothing else: no time, no size, no name."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    at = len(data) // 2
    data[at] = data[at] ^ 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
