"""Names of files and folders that clients never see: keys and credentials."""

from __future__ import annotations

from typing import Final

from handrail.permissions.path_names import bare_name

__all__ = ["CLOSED", "is_closed"]

CLOSED: Final = frozenset(
    ".ssh .gnupg .aws .kube .handrail .netrc .git-credentials .pypirc .npmrc .claude.json .credentials.json".split()
)


def is_closed(path: str) -> bool:
    """Whether any component of the path is such a name."""
    return any(bare_name(name) in CLOSED for name in path.split("/"))
