"""Which files of a conversation are in the store, in which pieces. In: what a machine wrote. Out: it, checked. Pure.

Whoever may write to the store may write anything: a name that leads elsewhere is refused before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.cluster.travel.pieces import PIECE

__all__ = [
    "LARGEST",
    "MOST_FILES",
    "TRANSCRIPT",
    "Manifest",
    "Piece",
    "StoredFile",
    "decode",
    "encode",
    "stays",
    "usable",
]

TRANSCRIPT: Final = ""
"""The path of the transcript itself; those of all others begin at the folder beside it."""
FOLDERS: Final = {"subagents": 8, "tool-results": 2}
"""What is taken along of that folder, and how many names a path there may have."""
LARGEST: Final = 1024**3
"""Bytes of one conversation, whatever is said about it."""
MOST_FILES: Final = 5000
_LONGEST_NAME: Final = 255
_NAMELESS: Final = re.compile(r"[\x00-\x1f\x7f\\/]|^\.|^$")

Size = Annotated[int, Meta(ge=0, le=LARGEST)]
Writer = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z")]
"""It is written to logs."""
Hex = Annotated[str, Meta(pattern=r"^[0-9a-f]{1,64}\Z")]


class Piece(Struct, frozen=True, array_like=True):
    """Some bytes of a file, and where they lie."""

    name: Hex
    size: Annotated[int, Meta(ge=1, le=PIECE)]


class StoredFile(Struct, frozen=True, array_like=True):
    """A file as it was kept; `digest` is the SHA-256 of all of it."""

    path: str
    size: Size
    digest: Hex
    pieces: tuple[Piece, ...]


class Manifest(Struct, frozen=True, kw_only=True):
    """All that belongs together. `writer`: the machine that kept it."""

    conversation: str
    writer: Writer = ""
    files: tuple[StoredFile, ...] = ()

    def pieces(self) -> set[str]:
        """The names of all of them."""
        return {piece.name for file in self.files for piece in file.pieces}


def encode(manifest: Manifest) -> bytes:
    """As it travels."""
    return msgspec.json.encode(manifest)


def decode(data: bytes) -> Manifest:
    """As it was. ValueError where it is none, or says what cannot be."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    paths = [file.path for file in manifest.files]
    named = [piece.name for file in manifest.files for piece in file.pieces]
    if len(paths) > MOST_FILES or len(set(paths)) < len(paths) or len(set(named)) < len(named):
        raise ValueError("it names something twice, or too many files")
    if odd := [path for path in paths if not usable(path)]:
        raise ValueError(f"{odd[0][:100]!r} is no path of a conversation's file")
    if any(sum(piece.size for piece in file.pieces) != file.size for file in manifest.files):
        raise ValueError("a file and its pieces are not of one size")
    if sum(file.size for file in manifest.files) > 2 * LARGEST:
        raise ValueError("it is too large")
    return manifest


def usable(path: str) -> bool:
    """Whether a file of a conversation can have this path."""
    if path == TRANSCRIPT:
        return True
    names = path.split("/")
    if not 2 <= len(names) <= FOLDERS.get(names[0], 0):
        return False
    try:
        return not any(_NAMELESS.search(name) or len(name.encode()) > _LONGEST_NAME for name in names)
    except UnicodeEncodeError:
        return False


def stays(pieces: Sequence[Piece], more: int) -> int:
    """How many pieces stay as they are where so many bytes come after them.

    Small ones before the new bytes are sent once more together with them: what grows by a line at a time is not kept
    as a thousand pieces in the end, and no byte is sent more often than it can double.
    """
    count = len(pieces)
    while count and pieces[count - 1].size <= more and pieces[count - 1].size + more <= PIECE:
        count -= 1
        more += pieces[count].size
    return count
