"""The version of a build, for hatch.

A commit with a tag `vX.Y.Z` has that version, commits after it the next patch version with `.devN`. Without tags, as in
a shallow clone, it is the newest version in CHANGELOG.md. In a source distribution it is the one in PKG-INFO.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DESCRIBE = ("git", "describe", "--tags", "--long", "--match", "v[0-9]*.[0-9]*.[0-9]*")


def version(root: Path = ROOT) -> str:
    """The version of the sources in a folder. Raises ValueError if none can be found."""
    return _of_sdist(root) or _of_tags(root) or of_changelog(root)


def _of_sdist(root: Path) -> str:
    try:
        found = re.search(r"^Version: (.+)$", (root / "PKG-INFO").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def _of_tags(root: Path) -> str:
    if not (root / ".git").exists():  # else git would look for a repository around this folder
        return ""
    try:
        described = subprocess.run(DESCRIBE, cwd=root, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)-(\d+)-g[0-9a-f]+", described.strip())
    if found is None:  # a tag of a pre-release is not counted from
        return ""
    major, minor, patch, later = map(int, found.groups())
    return f"{major}.{minor}.{patch + 1}.dev{later}" if later else f"{major}.{minor}.{patch}"


def of_changelog(root: Path = ROOT) -> str:
    """The newest version in CHANGELOG.md."""
    found = re.search(r"^## (\d+\.\d+\.\d+)", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError("CHANGELOG.md has no heading `## X.Y.Z`; add one for the version to build")
    return found[1]
