"""Reading the other format of recordings: decoded messages in NAME.ndjson, with metadata in NAME.meta.json.

Rows are `{"t":…,"dir":"in"|"out","msg":…}`; a `msg` of `{"__raw__": text}` is text that was not JSON. The metadata are
`argv`, `exit`, `t_exit` and `stderr`. The end of input is not recorded, so it is inferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from handrail.transport.recording_file import End, Header, RecordingError, Row

__all__ = ["iterate_messages"]

Object = dict[str, Any]


class _MessageRow(msgspec.Struct):
    t: float
    dir: Literal["in", "out"]
    msg: Any


class _Meta(msgspec.Struct):
    argv: tuple[str, ...] = ()
    exit: int | str | None = None
    t_exit: float | None = None
    stderr: str = ""


def iterate_messages(path: Path, first: bytes, rest: Iterable[tuple[int, bytes]]) -> Iterator[Header | Row | End]:
    """Yield header, rows and end. `first` is the first line of the file, `rest` has the others with their numbers."""
    meta = _meta(path)
    yield Header(argv=meta.argv)
    t, last_failed = 0.0, False
    for number, line in ((1, first), *rest) if first else ():
        try:
            row = msgspec.json.decode(line, type=_MessageRow)
        except msgspec.DecodeError as error:
            raise RecordingError(f"{path}:{number}: {error}") from error
        t, last_failed = row.t, _failed(row.msg, last_failed)
        yield from (Row(t, row.dir, data) for data in _lines(row.msg))
    t = meta.t_exit if meta.t_exit is not None else t
    yield from (Row(t, "err", line.encode()) for line in meta.stderr.splitlines())
    # At end of input the CLI exits with 1 after a failed turn, else with 0; if it exits by itself, it prints an error.
    if meta.exit == int(last_failed) and not (meta.exit and meta.stderr):
        yield Row(t, "in", b"", eof=True)
    yield End(t, meta.exit) if isinstance(meta.exit, int) else End(t, signal=meta.exit)


def _meta(path: Path) -> _Meta:
    beside = path.with_suffix(".meta.json")
    try:
        return msgspec.json.decode(beside.read_bytes(), type=_Meta)
    except FileNotFoundError:
        return _Meta(exit=0)
    except msgspec.DecodeError as error:
        raise RecordingError(f"{beside}: {error}") from error


def _lines(message: Any) -> list[bytes]:
    if isinstance(message, dict) and isinstance(text := cast(Object, message).get("__raw__"), str):
        return [line.encode("utf-8", "surrogatepass") for line in text.split("\n")]
    return [msgspec.json.encode(message)]


def _failed(message: Any, before: bool) -> bool:  # noqa: FBT001
    """Whether the last turn up to this message failed."""
    if not isinstance(message, dict) or cast(Object, message).get("type") != "result":
        return before
    return bool(cast(Object, message).get("is_error"))
