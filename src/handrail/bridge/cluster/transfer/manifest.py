"""The manifest of a stored conversation: its files, and the chunks of each file. Pure.

Any machine with write access to the store can write any manifest, so `decode` rejects every path that would leave the
conversation's folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.cluster.transfer.object_store import CHUNK_SIZE

__all__ = [
    "CHECKPOINTS",
    "FOLDERS",
    "MAX_BYTES",
    "MAX_FILES",
    "TRANSCRIPT",
    "Chunk",
    "Manifest",
    "StoredFile",
    "decode",
    "encode",
    "is_valid_path",
    "reusable_chunks",
]

TRANSCRIPT: Final = ""
"""Path of the transcript itself. All other paths are relative to the folder beside it, except those of checkpoints."""
CHECKPOINTS: Final = "file-history"
"""Files as they were before the CLI changed them, in a folder of the CLI's home; each has the mode of its file."""
FOLDERS: Final = {"subagents": 8, "tool-results": 2, CHECKPOINTS: 2}
"""Subfolders that are transferred, and the largest number of path components in each."""
MAX_BYTES: Final = 1024**3
"""Size limit of one transcript. A manifest cannot raise it."""
MAX_FILES: Final = 5000
_MAX_NAME_BYTES: Final = 255
_INVALID_NAME: Final = re.compile(r"[\x00-\x1f\x7f\\/]|^\.|^$")

Size = Annotated[int, Meta(ge=0, le=MAX_BYTES)]
Writer = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z")]
"""No control characters: the name is written to logs."""
Hex = Annotated[str, Meta(pattern=r"^[0-9a-f]{1,64}\Z")]


class Chunk(Struct, frozen=True, array_like=True):
    """Part of a file, and its name in the store."""

    name: Hex
    size: Annotated[int, Meta(ge=1, le=CHUNK_SIZE)]


class StoredFile(Struct, frozen=True, array_like=True):
    """A stored file; `digest` is the SHA-256 of its contents."""

    path: str
    size: Size
    digest: Hex
    chunks: tuple[Chunk, ...]
    mode: Annotated[int, Meta(ge=0, le=0o777)] = 0o600


class Manifest(Struct, frozen=True, kw_only=True):
    """The files of one conversation. `writer`: the machine that stored them.

    `left_behind`: checkpoints that stay on that machine, because they exceed the limit.
    """

    conversation: str
    writer: Writer = ""
    files: tuple[StoredFile, ...] = ()
    left_behind: Annotated[int, Meta(ge=0)] = 0

    def chunk_names(self) -> set[str]:
        """The names of all chunks."""
        return {chunk.name for file in self.files for chunk in file.chunks}


def encode(manifest: Manifest) -> bytes:
    """Encode as JSON."""
    return msgspec.json.encode(manifest)


def decode(data: bytes) -> Manifest:
    """Decode and validate. Raises ValueError."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    paths = [file.path for file in manifest.files]
    chunks = [chunk.name for file in manifest.files for chunk in file.chunks]
    if len(paths) > MAX_FILES:
        raise ValueError(f"too many files: {len(paths)}, at most {MAX_FILES} are allowed")
    if len(set(paths)) < len(paths) or len(set(chunks)) < len(chunks):
        raise ValueError("duplicate path or chunk name")
    if invalid := [path for path in paths if not is_valid_path(path)]:
        raise ValueError(f"invalid path {invalid[0][:100]!r}")
    if any(sum(chunk.size for chunk in file.chunks) != file.size for file in manifest.files):
        raise ValueError("the size of a file differs from the sum of its chunks")
    if sum(file.size for file in manifest.files) > 2 * MAX_BYTES:
        raise ValueError(f"the files exceed {2 * MAX_BYTES:,} bytes")
    return manifest


def is_valid_path(path: str) -> bool:
    """Whether a file of a conversation may have this path."""
    if path == TRANSCRIPT:
        return True
    names = path.split("/")
    if not 2 <= len(names) <= FOLDERS.get(names[0], 0):
        return False
    try:
        return not any(_INVALID_NAME.search(name) or len(name.encode()) > _MAX_NAME_BYTES for name in names)
    except UnicodeEncodeError:
        return False


def reusable_chunks(chunks: Sequence[Chunk], added: int) -> int:
    """How many chunks stay unchanged when `added` bytes are appended; the rest is sent again with the new bytes.

    Small trailing chunks are merged, so a file that grows line by line does not end as thousands of chunks. A chunk is
    merged only if the result at least doubles it, so each byte is sent a logarithmic number of times.
    """
    count = len(chunks)
    while count and chunks[count - 1].size <= added and chunks[count - 1].size + added <= CHUNK_SIZE:
        count -= 1
        added += chunks[count].size
    return count
