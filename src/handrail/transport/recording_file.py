"""Reading recordings: files with every line of the wire, losslessly.

The format is NDJSON: a header, one row per line of the wire, and the end of the process.

    {"handrail":"recording","version":1,"argv":[…],"started":"2026-01-31T12:00:00+00:00"}
    {"t":0.01,"dir":"in","raw":"…"}     dir: in = to the CLI, out = from the CLI, err = its stderr
    {"t":0.02,"dir":"out","b64":"…"}    if the bytes are not UTF-8
    {"t":0.03,"dir":"out","raw":"…","cut":true}    not followed by a newline
    {"t":0.04,"dir":"in","eof":true}    end of the input of the CLI
    {"t":0.05,"exit":0}    or {"t":0.05,"exit":null,"signal":"SIGKILL"}
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from handrail.errors import CallerError

__all__ = [
    "VERSION",
    "Direction",
    "End",
    "Header",
    "Recording",
    "RecordingError",
    "Row",
    "Torn",
    "iterate_recording",
    "read_recording",
]

VERSION = 1
MAX_ROW = 256 * 1024 * 1024
Direction = Literal["in", "out", "err"]


class RecordingError(CallerError, ValueError):
    """The file is not a recording, or is damaged; the text contains file and line."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The command (masked) and the start time."""

    argv: tuple[str, ...] = ()
    started: str = ""
    version: int = VERSION


class Row(msgspec.Struct, frozen=True):
    """One line of the wire. `cut`: it did not end with a newline. `eof`: the end of this direction, without a line."""

    t: float
    dir: Direction
    data: bytes
    cut: bool = False
    eof: bool = False

    @property
    def wire(self) -> bytes:
        """The bytes on the wire."""
        return self.data if self.cut or self.eof else self.data + b"\n"


class End(msgspec.Struct, frozen=True):
    """The exit code or signal of the process."""

    t: float
    code: int | None = None
    signal: str | None = None


class Torn(msgspec.Struct, frozen=True):
    """The last line of the file is incomplete, because its writer was killed."""

    line: int


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A recording. Without an `end` it is incomplete."""

    header: Header = Header()
    rows: list[Row] = []
    end: End | None = None
    torn: bool = False


class _Line(msgspec.Struct):
    """Any line of the file; its kind follows from its fields."""

    handrail: str | None = None
    version: int = 0
    argv: tuple[str, ...] = ()
    started: str = ""
    t: float = 0.0
    dir: Direction | None = None
    raw: str | None = None
    b64: str | None = None
    cut: bool = False
    eof: bool = False
    exit: int | msgspec.UnsetType | None = msgspec.UNSET
    signal: str | None = None
    msg: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(_Line).decode


def read_recording(path: str | Path) -> Recording:
    """Read a whole recording. Raises RecordingError or OSError."""
    header, rows, end, torn = Header(), list[Row](), None, False
    for part in iterate_recording(path):
        match part:
            case Row():
                rows.append(part)
            case Header():
                header = part
            case End():
                end = part
            case Torn():
                torn = True
    return Recording(header=header, rows=rows, end=end, torn=torn)


def iterate_recording(path: str | Path) -> Iterator[Header | Row | End | Torn]:
    """Read a recording part by part: header, rows, and the end if there is one. Raises RecordingError or OSError."""
    path = Path(path)
    with path.open("rb") as file:
        lines = _numbered(path, file)
        number, first = next(lines, (1, b""))
        if _holds_messages(path, first):
            from handrail.transport.recording_messages import iterate_messages

            yield from iterate_messages(path, first, lines)
            return
        yield _header(path, first)
        for number, line in lines:
            part = _part(path, number, line)
            yield part
            if isinstance(part, Torn):
                return


def _numbered(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(MAX_ROW + 1):
        number += 1
        if len(line) > MAX_ROW:
            raise RecordingError(f"{path}:{number}: the line is longer than {MAX_ROW} bytes")
        if not line.isspace():
            yield number, line


def _holds_messages(path: Path, first: bytes) -> bool:
    """Whether this is the other format: rows with a decoded `msg`, without a header."""
    if not first:
        return path.with_suffix(".meta.json").is_file()
    try:
        line = _decode(first)
    except msgspec.DecodeError:
        return False
    return line.handrail is None and line.msg is not msgspec.UNSET


def _header(path: Path, first: bytes) -> Header:
    try:
        line = _decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        line = None
    if line is None or line.handrail != "recording":
        raise RecordingError(
            f"{path}:1: not a recording (a recording begins with "
            '{"handrail":"recording",…}); make one with: handrail record -o FILE -- claude …'
        )
    if line.version != VERSION:
        raise RecordingError(f"{path}:1: version {line.version} of the format; this Handrail reads version {VERSION}")
    return Header(argv=line.argv, started=line.started, version=line.version)


def _part(path: Path, number: int, text: bytes) -> Row | End | Torn:
    try:
        line = _decode(text)
        if line.exit is not msgspec.UNSET:
            return End(line.t, line.exit, line.signal)
        if line.dir is None:
            raise RecordingError(f"{path}:{number}: the row has neither `dir` nor `exit`")
        return Row(line.t, line.dir, _data(line), line.cut, line.eof)
    except RecordingError:
        raise
    except (msgspec.DecodeError, ValueError) as error:
        if not text.endswith(b"\n"):
            return Torn(number)
        raise RecordingError(f"{path}:{number}: {error}") from error


def _data(line: _Line) -> bytes:
    if line.raw is not None:
        return line.raw.encode()
    if line.b64 is not None:
        try:
            return base64.b64decode(line.b64, validate=True)
        except binascii.Error as error:
            raise ValueError(f"`b64` is not base64: {error}") from error
    if line.eof:
        return b""
    raise ValueError("the row has neither `raw` nor `b64`")
