"""A project and a home with files in them, and a user who trusts the project."""

from __future__ import annotations

from pathlib import Path

from handrail.settings.load import look
from handrail.settings.trust import accept


def put(path: Path, text: str) -> Path:
    """A file, with the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def project_file(folder: Path, name: str, text: str) -> Path:
    """A file below the project's `.claude`."""
    return put(folder / "project" / ".claude" / name, text)


def user_file(folder: Path, name: str, text: str) -> Path:
    """A file below the user's `.claude`."""
    return put(folder / "home" / ".claude" / name, text)


def trust(folder: Path) -> None:
    """The user says yes to the project as it is now."""
    project, home = folder / "project", folder / "home" / ".claude"
    home.mkdir(parents=True, exist_ok=True)
    accept(look(str(project.resolve()), str(home)).contents, str(home))
