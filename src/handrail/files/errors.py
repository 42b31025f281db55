"""What can go wrong with a path that somebody named.

FileError                 the text names the path, the problem, and where there is one the way out
├── FileNotThere          nothing has this name
├── OutsideRoot           it leads out of the folder it must stay in: `..`, an absolute path, a link
├── LinkInTheWay          a link where none may be followed, perhaps put there since somebody decided
├── WrongKind             a device, a pipe, a socket, something of /proc; a folder for a file, or a file for a folder
├── OtherNames            the file has more names (hard links) than were decided on
└── TooLarge              more bytes or entries than the limit
"""

from __future__ import annotations

from handrail.permissions.path_names import shown

__all__ = ["FileError", "FileNotThere", "LinkInTheWay", "OtherNames", "OutsideRoot", "TooLarge", "WrongKind"]


class FileError(Exception):
    """A file cannot be used. In: the path as it was named, and what is wrong with it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.problem}"


class FileNotThere(FileError):
    """Nothing has this name."""


class OutsideRoot(FileError):
    """The path leads out of the folder."""


class LinkInTheWay(FileError):
    """A link stands where none may be followed."""


class WrongKind(FileError):
    """It is not the kind of file that was to be opened."""


class OtherNames(FileError):
    """The same file has further names."""


class TooLarge(FileError):
    """There is more of it than the limit allows."""
