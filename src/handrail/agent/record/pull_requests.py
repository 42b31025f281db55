"""Links between sessions and pull requests, for --from-pr.

The transcript of a session that opens or changes a pull request gets a `pr-link` line, as in the CLI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from handrail.transcripts import list_sessions, projects_folder
from handrail.transcripts.layout import SessionFile, open_below

__all__ = ["link_of", "linked_session"]

_MARK: Final = b'"type":"pr-link"'
_URL: Final = re.compile(
    r"https?://[\w.:-]+/(?P<repository>[\w.-]+(?:/[\w.-]+)+?)(?:/-)?/(?:pulls?|merge_requests)/(?P<number>\d{1,9})\b"
)
_CHANGE: Final = re.compile(
    r"\bgh\s+pr\s+(?:create|edit|merge|comment|close|ready|reopen)\b"
    r"|\bglab\s+mr\s+(?:create|update|merge|note|close|reopen)\b"
)
"""Commands after which a session is linked; those that only look at a pull request do not link it."""
_NUMBER: Final = re.compile(r"#?(\d+)")
MOST_SESSIONS: Final = 200


def link_of(command: str, output: str) -> dict[str, Any] | None:
    """The fields of the `pr-link` line after a successful command: the last pull request that its output names."""
    if not _CHANGE.search(command):
        return None
    *_, found = None, *_URL.finditer(output)
    return found and {"prNumber": int(found["number"]), "prUrl": found[0], "prRepository": found["repository"]}


def linked_session(wanted: str, *, home: str, cwd: str) -> str | None:
    """The latest session of this folder that is linked to a pull request, by its number or its URL."""
    repository, number = _parsed(wanted)
    if not number:
        return None
    for info in list_sessions(cwd, config_home=Path(home), limit=MOST_SESSIONS):
        file = SessionFile(projects_folder(Path(home)), info.project, info.id)
        for link in _links(file):
            same = not repository or link.get("prRepository") in (None, repository)
            if str(link.get("prNumber")) == number and same:
                return info.id
    return None


def _parsed(wanted: str) -> tuple[str, str]:
    """Repository and number; both empty if the text names no pull request."""
    if found := _URL.match(wanted.strip()):
        return found["repository"], found["number"]
    if found := _NUMBER.fullmatch(wanted.strip()):
        return "", found[1]
    return "", ""


def _links(file: SessionFile) -> Iterator[dict[str, Any]]:
    with open(open_below(file.root, file.path), "rb") as lines:
        for line in lines:
            if _MARK not in line:
                continue
            try:
                entry: Any = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if isinstance(entry, dict) and cast("dict[str, Any]", entry).get("type") == "pr-link":
                yield cast("dict[str, Any]", entry)
