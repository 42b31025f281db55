"""Simulates power cuts: rebuilds a store from an strace log as the disk would hold it at some moment.

A disk holds all synced data and any part of the later writes, in any order. A client may have seen all data sent to its
socket by then. The log contains both, in the order in which they happened.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

__all__ = ["STRACE", "Moment", "moments"]

Json = dict[str, Any]
CALLS = "pwrite64,fdatasync,fsync,ftruncate,unlink,sendto,write"
STRACE = ("strace", "-f", "-qq", "-y", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-e", "signal=none")
SECTOR = 512
_LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")


class Moment(NamedTuple):
    """A power cut: the files on disk by name, and the messages sent to clients."""

    files: dict[str, bytes]
    sent: list[Json]


class _Disk:
    """The files of a store: their synced content, and the writes since."""

    def __init__(self) -> None:
        self.synced: dict[str, bytearray] = {}
        self._since: defaultdict[str, list[tuple[int, bytes | None]]] = defaultdict(list)

    def write(self, name: str, data: bytes, offset: int) -> None:
        self._since[name].append((offset, data))

    def cut(self, name: str, size: int) -> None:
        self._since[name].append((size, None))

    def sync(self, name: str) -> None:
        for change in self._since.pop(name, ()):
            _apply(self.synced.setdefault(name, bytearray()), change)

    def lose(self, name: str) -> None:
        self.synced.pop(name, None)
        self._since.pop(name, None)

    def after_cut(self, random: Random) -> dict[str, bytes]:
        """The files after a power cut: synced content, and random sectors of later writes."""
        found = {name: bytearray(data) for name, data in self.synced.items()}
        for name, changes in self._since.items():
            content = found.setdefault(name, bytearray())
            for offset, data in random.sample(changes, random.randint(0, len(changes))):
                if data is None:
                    continue
                for start in range(0, len(data), SECTOR):
                    if random.random() < 0.8:
                        _apply(content, (offset + start, data[start : start + SECTOR]))
        return {name: bytes(data) for name, data in found.items()}


def _apply(content: bytearray, change: tuple[int, bytes | None]) -> None:
    offset, data = change
    if data is None:
        del content[offset:]
        return
    if len(content) < offset + len(data):
        content.extend(bytes(offset + len(data) - len(content)))
    content[offset : offset + len(data)] = data


def moments(log: Path, store: Path, count: int, seed: int) -> Iterator[Moment]:
    """Random power cuts during the run in `log`, an strace log; `store` is the path of the database."""
    random = Random(seed)
    calls = list(_calls(log))
    sends = [place for place, call in enumerate(calls) if call[0] in ("sendto", "write") and _is_socket(call[1])]
    cuts = sorted(random.sample(sends, min(count, len(sends))))  # just after data was sent to a client
    disk, sockets = _Disk(), defaultdict[str, bytes](bytes)
    for place, (name, target, rest) in enumerate(calls):
        if _is_socket(target) and name in ("sendto", "write"):
            sockets[target] += _data(rest)
        elif target.startswith(str(store)):
            _on_disk(disk, name, target, rest)
        if place in cuts:
            sent = [line for data in sockets.values() for line in _frames(data)]
            yield Moment(disk.after_cut(random), sent)


def _on_disk(disk: _Disk, name: str, target: str, rest: str) -> None:
    if name == "pwrite64":
        disk.write(target, _data(rest), int(_numbers(rest)[1]))
    elif name == "ftruncate":
        disk.cut(target, int(_numbers(rest)[0]))
    elif name == "unlink":
        disk.lose(target)
    else:
        disk.sync(target)


def _numbers(rest: str) -> list[str]:
    """The arguments after the data."""
    return re.findall(r"\d+", rest.rpartition('"')[2].partition("=")[0])


def _is_socket(target: str) -> bool:
    return target.startswith("socket:")


def _calls(log: Path) -> Iterator[tuple[str, str, str]]:
    """Name, file and remaining arguments of each call: writes when they begin, syncs when they end."""
    waiting: dict[str, tuple[str, str, str]] = {}
    for line in log.read_text(errors="replace").splitlines():
        if (found := _LINE.match(line.rstrip("\n"))) is None:
            continue
        pid, resumed, name, rest = found.groups()
        if resumed:
            if pid in waiting and resumed in ("fdatasync", "fsync"):
                yield waiting.pop(pid)
            continue
        call = (name, *_target(name, rest))
        if rest.endswith("<unfinished ...>") and name in ("fdatasync", "fsync"):
            waiting[pid] = call
        else:
            yield call


def _target(name: str, rest: str) -> tuple[str, str]:
    if name == "unlink":
        return _unescaped(rest.partition('"')[2].partition('"')[0]).decode(errors="replace"), ""
    inside = rest.partition("<")[2]
    target, _, arguments = inside.partition(">")
    return (_unescaped(target).decode(errors="replace") if "\\x" in target else target), arguments.lstrip(", ")


def _unescaped(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _data(rest: str) -> bytes:
    return _unescaped(rest.partition('"')[2].partition('"')[0])


def _frames(data: bytes) -> Iterator[Json]:
    """The WebSocket messages in the data of a connection; other connections and partial messages are skipped."""
    start = data.find(b"\r\n\r\n")
    if not data.startswith(b"HTTP/1.1 101") or start < 0:
        return
    place = start + 4
    while place + 2 <= len(data):
        kind, size = data[place] & 15, data[place + 1]
        place += 2
        if size >= 126:
            width = 2 if size == 126 else 8
            size = int.from_bytes(data[place : place + width], "big")
            place += width
        if place + size > len(data):
            return
        if kind == 1:
            yield json.loads(data[place : place + size])
        place += size
