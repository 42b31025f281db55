"""Errors about paths that a model, a client or a repository named.

FileError                 the text names the path, the problem, and where there is one the way out
├── FileNotThere          nothing has this name
├── OutsideRoot           it leads out of the folder it must stay in: `..`, an absolute path, a link
├── LinkInTheWay          a link where links are not followed; it may have appeared after the decision
├── WrongKind             a device, a pipe, a socket, something of /proc; a folder for a file, or a file for a folder
├── OtherNames            the file has more names (hard links) than were decided on
└── TooLarge              more bytes or entries than the limit
"""

from __future__ import annotations

from handrail.errors import CallerError
from handrail.permissions.paths.names import shown

__all__ = ["FileError", "FileNotThere", "LinkInTheWay", "OtherNames", "OutsideRoot", "TooLarge", "WrongKind"]


class FileError(CallerError):
    """A file cannot be used. `path` is the path as given; `problem` is the reason and continues a sentence about it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.problem}"


class FileNotThere(FileError):
    """The path does not exist."""


class OutsideRoot(FileError):
    """The path leads out of the folder."""


class LinkInTheWay(FileError):
    """A link is in the way, and links are not followed."""


class WrongKind(FileError):
    """The path is of another kind than expected, such as a pipe instead of a file."""


class OtherNames(FileError):
    """The file has more hard links than allowed."""


class TooLarge(FileError):
    """The file is larger than the limit."""
