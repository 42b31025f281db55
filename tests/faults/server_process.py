"""A real server process that tests start and kill.

All files of a server are in one folder: `data`, `diaries` of its children, `work` for the sessions, `home`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.faults.fake_cli import MARKED, write_cli

__all__ = ["ServerProcess", "free_port", "processes_at", "processes_of", "seed_sessions", "sockets_of"]

PROGRAM = Path(__file__).with_name("serving.py")
PATIENCE = 30.0
MARK = f"{MARKED}=".encode()


class ServerProcess:
    """One server and its folder. `options` are passed to `serving.py`."""

    def __init__(self, folder: Path, *arguments: str, **options: Any) -> None:
        self.folder = folder
        self.data, self.diaries, self.work = folder / "data", folder / "diaries", folder / "work"
        for path in (self.diaries, self.work, folder / "home"):
            path.mkdir(parents=True, exist_ok=True)
        cli = options.pop("cli", None) or write_cli(self.diaries, *arguments)
        self.port = free_port()
        self.wrapper: tuple[str, ...] = tuple(options.pop("wrapper", ()))
        common = {"data": str(self.data), "port": self.port, "cli": cli, "roots": [str(self.work)]}
        self.options = {**common, **options}
        self._process: asyncio.subprocess.Process | None = None
        self._moved = {"steady": 0.0, "wall": 0.0}

    @property
    def url(self) -> str:
        """The WebSocket URL for clients."""
        return f"ws://127.0.0.1:{self.port}/ws"

    @property
    def token(self) -> str:
        """A token with all scopes."""
        return (self.data / "token").read_text()

    @property
    def pid(self) -> int:
        """The id of the server process, not of a wrapper."""
        assert self._process is not None
        return int((self.data / "pid").read_text()) if self.wrapper else self._process.pid

    @property
    def log(self) -> str:
        """Its log so far."""
        return (self.folder / "server.log").read_text()

    async def start(self) -> float:
        """Start the server; returns the seconds until it answers."""
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder / "home"), "LANG": "C.UTF-8"}
        begun = time.monotonic()
        self._moved = {"steady": 0.0, "wall": 0.0}
        with (self.folder / "server.log").open("ab") as log:
            command = (*self.wrapper, sys.executable, str(PROGRAM), json.dumps(self.options))
            self._process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=log, stderr=log)
        async with asyncio.timeout(PATIENCE):
            while not (await self.answers() and (self.data / "token").exists()):
                if self._process.returncode is not None:
                    raise RuntimeError(f"the server exited with {self._process.returncode}:\n{self.log[-2000:]}")
                await asyncio.sleep(0.005)
        return time.monotonic() - begun

    async def answers(self) -> bool:
        """Whether it answers HTTP requests."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            writer.write(
                f"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode()
            )
            return b" 200 " in await reader.readline()
        except OSError:
            return False
        finally:
            writer.close()

    async def listed(self) -> dict[str, Any]:
        """The sessions of the server by id, as the REST API lists them."""
        import httpx2

        async with httpx2.AsyncClient(headers={"authorization": f"Bearer {self.token}"}) as client:
            answer = await client.get(f"http://127.0.0.1:{self.port}/api/sessions")
        return {session["id"]: session for session in answer.json()["sessions"]}

    def memory(self) -> int:
        """Its resident memory in bytes."""
        fields = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in fields if line.startswith("VmRSS:"))

    async def says(self, words: str) -> None:
        """Wait until its log contains some text."""
        async with asyncio.timeout(PATIENCE):
            while words not in self.log:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.02)

    async def move(self, *, steady: float = 0.0, wall: float = 0.0) -> None:
        """Advance the time of the server or set its clock; returns once it has done so."""
        self._moved = {"steady": self._moved["steady"] + steady, "wall": self._moved["wall"] + wall}
        text = json.dumps(self._moved)
        (self.data / "clock").write_text(text)
        os.kill(self.pid, signal.SIGUSR1)
        confirmed = self.data / "clock-moved"
        async with asyncio.timeout(PATIENCE):
            while not confirmed.exists() or confirmed.read_text() != text:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.001)

    async def pass_time(
        self, holds: Callable[[], Any], *, step: float = 0.25, pause: float = 0.01, most: float = 200.0
    ) -> float:
        """Advance the time of the server until a condition holds; returns the seconds passed by its clock.

        `pause` is the real time in each step, for due work to be done and observed. Tests that stop processes need
        more of it.
        """
        passed = 0.0
        while not holds():
            assert passed < most, f"the condition did not hold within {most} s"
            await self.move(steady=step)
            passed += step
            await asyncio.sleep(pause)
        return passed

    async def kill(self) -> None:
        """End it with SIGKILL, as the kernel does when memory is short."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End it with SIGTERM, as an operator would."""
        await self._end(signal.SIGTERM)

    async def _end(self, number: int) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
        async with asyncio.timeout(PATIENCE):
            await self._process.wait()

    async def __aenter__(self) -> ServerProcess:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.stop()
        finally:
            await self.kill()

    async def orphans(self) -> list[int]:
        """Descendants that are left two seconds after the server has exited."""
        end = time.monotonic() + 2
        while (left := self._left()) and time.monotonic() < end:  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.02)
        return left

    def _left(self) -> list[int]:
        """Processes started by the server, found by its home, and by its children, found by their mark."""
        started = processes_at(self.folder / "home")
        own = self._process.pid if self._process is not None and self._process.returncode is None else 0
        return sorted({*started, *processes_of(self.diaries)} - {own})


def free_port() -> int:
    """A free port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def processes_of(folder: Path) -> list[int]:
    """Running processes started by children of this folder's server. Zombies are not found: their environment is
    empty."""
    wanted = MARK + os.fsencode(folder) + b"\0"
    return [pid for pid in _pids() if wanted in _read(f"/proc/{pid}/environ")]


def processes_at(home: Path) -> list[int]:
    """Running processes with this home."""
    wanted = b"\0HOME=" + os.fsencode(home) + b"\0"
    return [pid for pid in _pids() if wanted in b"\0" + _read(f"/proc/{pid}/environ")]


def sockets_of(pid: int) -> int:
    """The number of open sockets of a process."""
    names = [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
    return sum(os.path.exists(name) and os.readlink(name).startswith("socket:") for name in names)


def _pids() -> Iterable[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def seed_sessions(data: Path, count: int, cwd: Path, *, events: int = 0, under_way: int = 0) -> None:
    """Add sessions with events to the store of a stopped server; `under_way` of them are idle, with a process."""
    import msgspec

    from handrail.bridge.store import event_log as log
    from handrail.bridge.store.base import SessionRecord
    from handrail.bridge.store.session_index import TABLES

    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with sqlite3.connect(data / "handrail.db") as db:
        db.executescript(TABLES + log.TABLES)
        for number in range(count):
            id, changed = f"00000000-0000-4000-8000-{number:012d}", 1_700_000_000_000 + number
            record = SessionRecord(
                id=id,
                cwd=str(cwd),
                created=changed,
                changed=changed,
                title=f"session {number}",
                state="idle" if number < under_way else "hibernated",
            )
            row = (id, changed, 0, f"{record.title} {cwd}".casefold(), msgspec.json.encode(record))
            db.execute("REPLACE INTO session VALUES (?, ?, ?, ?, ?)", row)
            if events:
                key = db.execute("INSERT INTO log (session, first, last) VALUES (?, 1, ?)", (id, events)).lastrowid or 0
                data_of = [b'{"title":"%s"}' % (b"%d " % n * 50) for n in range(events)]
                rows = [(key * 2**32 + n, changed, "changed", text) for n, text in enumerate(data_of, 1)]
                db.executemany("INSERT INTO event (place, time, kind, data) VALUES (?, ?, ?, ?)", rows)
    db.close()
