"""A client that always reconnects, and writes notes of all events for the checker.

It speaks `handrail.v1` over plain websockets and imports nothing of Handrail. After a lost connection it subscribes
from its last event and sends every unanswered command again, with the same id.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import websockets

__all__ = ["Refused", "Watcher", "digest"]

Json = dict[str, Any]
AGAIN = 0.02
PATIENCE = 60.0


class Refused(Exception):
    """A command was refused; `code` is the error code."""

    def __init__(self, error: Json) -> None:
        self.code: str = error["code"]
        super().__init__(f"{error['code']}: {error['message']}")


def digest(data: Any) -> str:
    """A digest of JSON data that does not depend on its formatting."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:24]


Url = str | tuple[str, int]
"""A WebSocket URL; with a port, the connection goes through a proxy there."""


class Seen:
    """A client's view of one session."""

    def __init__(self) -> None:
        self.last = 0
        self.state = ""
        self.events: list[tuple[int, str, Any]] = []
        self.verdicts: list[Json] = []
        self.live: str | None = None
        self.whole: set[str] = set()
        self.over: set[str] = set()
        """Messages whose turn has ended or that are not being processed."""
        self.asleep = 0
        """The last seq at the time of subscribing to a session without a process; nothing up to it is in progress."""

    def of_kind(self, kind: str) -> list[Json]:
        """The events of one kind."""
        return [data for _, name, data in self.events if name == kind]

    def results(self) -> list[Json]:
        """The results of turns, real and synthesized."""
        ends = [data for _, kind, data in self.events if kind == "crashed" or (kind == "frame" and _is_result(data))]
        return ends


def _is_result(data: Json) -> bool:
    return data.get("type") == "result"


class Watcher:
    """One client. `answers`: allow every permission request; `forgets`: keep no notes, for long runs."""

    def __init__(self, name: str, url: Url, token: str, *, answers: bool = True, forgets: bool = False) -> None:
        self.name, self.url, self._token, self.answers, self._forgets = name, url, token, answers, forgets
        self.sessions: dict[str, Seen] = {}
        self.notes: list[Json] = []
        self.connections = 0
        self.received = self.resyncs = self.streamed = self.refused = self.frames = 0
        self.patience = PATIENCE
        self._ids = itertools.count(1)
        self._waiting: dict[str, tuple[Json, asyncio.Future[Json]]] = {}
        self._changed = asyncio.Event()
        self._socket: Any = None
        self._running: asyncio.Task[None] | None = None
        self._answering: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._run(), name=f"watcher {self.name}")
        self._running.add_done_callback(lambda _: self._changed.set())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (self._running, *self._answering):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    # Actions

    async def follow(self, session: str) -> Seen:
        """Follow a session from its beginning."""
        if (known := self.sessions.get(session)) is not None:
            return known
        seen = self.sessions[session] = Seen()
        await self._try_to_send({"type": "subscribe", "session": session, "after": seen.last})
        return seen

    async def follow_from(self, session: str, after: int) -> Seen:
        """Follow a session from a seq, as a client that has seen the events before."""
        self.sessions[session] = Seen()
        self.sessions[session].last = after
        await self._try_to_send({"type": "subscribe", "session": session, "after": after})
        return self.sessions[session]

    async def follow_tail(self, session: str, count: int) -> Seen:
        """Follow a session from the last `count` events."""
        await self.until(lambda: self._socket is not None)
        seen = self.sessions[session] = Seen()
        await self._try_to_send({"type": "subscribe", "session": session, "tail": count})
        return seen

    async def command(self, command: str, **fields: Any) -> Json:
        """Execute a command, across reconnects, and return its result; raises `Refused`."""
        id = f"{self.name}-{next(self._ids)}"
        line = {"type": "command", "id": id, "command": command, "fields": fields}
        self.notes.append({"sent": id, "command": command, "question": fields.get("question")})
        answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (line, answered)
        await self._send_command(line)
        async with asyncio.timeout(self.patience):
            receipt = await answered
        if not receipt["ok"]:
            raise Refused(receipt["error"])
        return receipt["result"]

    async def start(self, cwd: Path, **fields: Any) -> str:
        """Start a session, follow it and return its id."""
        session: str = (await self.command("start", cwd=str(cwd), **fields))["session"]["id"]
        await self.follow(session)
        return session

    async def turn(self, session: str, text: str) -> str:
        """Send a message and wait for the end of its turn; returns the uuid of the message."""
        uuid: str = (await self.command("send", session=session, text=text))["uuid"]
        await self.until(lambda: uuid in self.sessions[session].over)
        return uuid

    async def answer(self, session: str, behavior: str = "allow") -> None:
        """Answer the last question."""
        asked = self.sessions[session].of_kind("asked")[-1]
        shown = {"question": asked["question"], "hash": asked["hash"]}
        await self.command("answer", session=session, behavior=behavior, **shown)

    async def until(self, holds: Callable[[], Any], patience: float | None = None) -> None:
        """Wait until a condition on the received events holds."""
        async with asyncio.timeout(patience or self.patience):
            while not holds():
                if self._running is not None and self._running.done():
                    self._running.result()
                self._changed.clear()
                await self._changed.wait()

    def nudge(self) -> None:
        """Make `until` check its condition again."""
        self._changed.set()

    def write(self, folder: Path) -> Path:
        """Write the notes to a file for the checker."""
        path = folder / f"{self.name}.notes"
        path.write_text("".join(json.dumps(note) + "\n" for note in self.notes))
        return path

    # Connection

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(OSError, websockets.WebSocketException, EOFError):
                await self._talk()
            self._socket = None
            await asyncio.sleep(AGAIN)  # back off before reconnecting

    async def _talk(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        options: Json = {"subprotocols": ["handrail.v1"], "additional_headers": headers, "compression": None}
        url, port = self.url if isinstance(self.url, tuple) else (self.url, None)
        options |= {} if port is None else {"port": port}
        async with websockets.connect(url, **options, open_timeout=10, close_timeout=0.1, proxy=None) as socket:
            await socket.send(json.dumps({"type": "hello", "protocol": 1}))
            json.loads(await socket.recv())
            self.connections += 1
            self._socket = socket
            self._changed.set()
            for session, seen in self.sessions.items():
                await socket.send(json.dumps({"type": "subscribe", "session": session, "after": seen.last}))
            for line, _ in list(self._waiting.values()):
                await socket.send(json.dumps(line))
            async for text in socket:
                self.received += len(text)
                self.frames += 1
                await self._take(json.loads(text))
                if self._forgets:
                    self._forget()
                self._changed.set()

    async def _try_to_send(self, line: Json) -> None:
        """Send if connected; otherwise the message is sent after reconnecting."""
        if self._socket is not None:
            with contextlib.suppress(OSError, websockets.WebSocketException):
                await self._socket.send(json.dumps(line))

    async def _send_command(self, line: Json) -> None:
        """Send a command for the first time."""
        await self._try_to_send(line)

    def drop_link(self) -> None:
        """Abort the connection, like a cut link."""
        if self._socket is not None:
            self._socket.transport.abort()

    def _forget(self) -> None:
        self.notes.clear()
        for seen in self.sessions.values():
            del seen.events[:-200]
            if len(seen.whole) > 1000:
                seen.whole.clear()
            if len(seen.over) > 1000:
                seen.over.clear()

    # Received messages

    async def _take(self, line: Json) -> None:
        kind = line["type"]
        if kind == "events":
            for event in line["events"]:
                self._see(line["session"], self.sessions[line["session"]], event)
        elif kind == "subscribed":
            seen = self.sessions[line["session"]]
            seen.live = None
            seen.verdicts.append(line)
            if line["record"]["state"] in ("hibernated", "failed"):
                seen.asleep = line["last"]
                seen.over |= {one["uuid"] for one in seen.of_kind("said")}
            place = {"after": seen.last, "verdict": line["verdict"], "last": line["last"]}
            self.notes.append({"session": line["session"], "subscribed": place})
        elif kind == "receipt":
            self._receipt(line)
        elif kind == "resync":
            self.resyncs += 1
            await self._try_to_send(
                {"type": "subscribe", "session": line["session"], "after": self.sessions[line["session"]].last}
            )
        elif kind == "error":
            self.notes.append({"error": line})

    def _receipt(self, line: Json) -> None:
        self.notes.append({"receipt": line["id"], "answer": {k: v for k, v in line.items() if k not in ("type", "id")}})
        _, answered = self._waiting.pop(line["id"], (None, None))
        if answered is not None and not answered.done():
            answered.set_result(line)

    def _see(self, session: str, seen: Seen, event: Json) -> None:
        kind, data = event["kind"], event.get("data", {})
        if kind == "live":
            return self._see_live(session, seen, data)
        seq = event["seq"]
        self.notes.append({"session": session, "seq": seq, "digest": digest(data)})
        seen.last = seq
        seen.events.append((seq, kind, data))
        if kind == "state":
            seen.state = data["state"]
            if seen.state in ("hibernated", "failed"):
                seen.over |= {one["uuid"] for one in seen.of_kind("said")}
        elif kind == "doubted" or (kind == "said" and seq <= seen.asleep):
            seen.over.add(data["uuid"])
        elif kind == "asked" and self.answers:
            self._answer(session, data)
        elif kind == "frame":
            self._see_frame(session, seen, data)

    def _see_frame(self, session: str, seen: Seen, data: Json) -> None:
        if data["type"] == "result":
            seen.over |= set(data.get("user_message_uuids", ()))
        elif data["type"] == "assistant":
            whole = data["message"]["content"][0]["text"]
            if seen.live is not None and seen.live != whole:
                shown = {"live": seen.live[:200], "whole": whole[:200]}
                self.notes.append({"session": session, "torn": shown})
            self.streamed += seen.live == whole
            seen.live = None
            seen.whole.add(whole.partition("]")[0])

    def _see_live(self, session: str, seen: Seen, data: Json) -> None:
        """Collect the deltas of a block, and note deltas of a block that is already complete."""
        event = data.get("event", {})
        if event.get("type") == "content_block_start":
            seen.live = ""
        elif event.get("type") == "content_block_delta":
            text = event["delta"]["text"]
            if seen.live is None:
                self.notes.append({"session": session, "torn": {"live": text[:200], "whole": ""}})
            seen.live = (seen.live or "") + text
            if seen.live.partition("]")[0] in seen.whole:
                self.notes.append({"session": session, "doubled": seen.live[:200]})

    def _answer(self, session: str, asked: Json) -> None:
        async def answer() -> None:
            fields = {"session": session, "question": asked["question"], "hash": asked["hash"], "behavior": "allow"}
            with contextlib.suppress(Refused, TimeoutError):
                await self.command("answer", **fields)

        task = asyncio.create_task(answer())
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
