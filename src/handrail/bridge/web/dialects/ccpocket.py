"""The early bridge protocol, for clients that were written to it. In: one socket. Out: messages of its two tables.

| client says | fields | is told |
|---|---|---|
| start | projectPath, sessionId?, continue?, permissionMode?; model, effort, limits, forkSession | system, status |
| resume_session | sessionId, projectPath, permissionMode?; model, forkSession | system, status, what waits |
| input | text, sessionId?; clientMessageId, images | input_ack where it has an id |
| approve, approve_always, reject | id, sessionId?; message | |
| answer | toolUseId, result, sessionId? | |
| list_sessions | | session_list |
| list_recent_sessions | limit?, offset?, projectPath? | recent_sessions |
| stop_session | sessionId | result: stopped |
| get_history | sessionId | history, then what comes |

What is not done is told by `error` with an errorCode; the socket stays open. Messages are done one after another. Which
messages events become: `ccpocket_messages`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import msgspec

from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects import ccpocket_said as said
from handrail.bridge.web.dialects.ccpocket_following import Following
from handrail.bridge.web.dialects.ccpocket_lists import active_sessions, recent_sessions, without_paths
from handrail.bridge.web.dialects.ccpocket_messages import Shown
from handrail.bridge.web.dialects.native import Wire
from handrail.protocol.errors import HandrailError

if TYPE_CHECKING:
    from handrail.bridge.web.dialects.base import CcpocketBackend as Bridge

__all__ = ["Client"]

JsonObject = dict[str, Any]
MOST_SESSIONS: Final = 64
MOST_LISTED: Final = 100_000


class _Gone(Exception):
    """The socket broke while it was written to."""


class Client:
    """One socket."""

    def __init__(self, bridge: Bridge, device: Device, wire: Wire) -> None:
        self._bridge, self._device, self._wire = bridge, device, wire
        self._more = asyncio.Event()
        self._writing = asyncio.Lock()
        self._following: dict[str, Following] = {}
        self._own: dict[str, None] = {}
        """Sessions that this socket started or resumed."""

    async def run(self) -> None:
        """Serve the client until it goes."""
        tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._send())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            for one in self._following.values():
                one.close()
        for error in results:
            if isinstance(error, Exception) and not isinstance(error, _Gone):
                raise error

    # To the client

    async def _tell(self, line: JsonObject) -> None:
        async with self._writing:
            await self._write(line)

    async def _write(self, line: JsonObject) -> None:
        await self._write_text(msgspec.json.encode(line))

    async def _write_text(self, line: bytes) -> None:
        try:
            await self._wire.send(line.decode())
        except Exception as error:  # whichever way a socket says that it broke
            raise _Gone from error

    async def _refuse(self, code: str, message: str, **fields: str | None) -> None:
        told = {name: value for name, value in fields.items() if value}
        await self._tell({"type": "error", "message": message, "errorCode": code, **told})

    async def _send(self) -> None:
        """Write what sessions have to tell, a bit of each in turn."""
        while True:
            self._more.clear()
            for id, following in list(self._following.items()):
                async with self._writing:
                    if following.pending and self._following.get(id) is following:
                        await self._send_next(id, following)
            if not any(following.pending for following in self._following.values()):
                await self._more.wait()

    async def _send_next(self, id: str, following: Following) -> None:
        try:
            lines = await following.next()
        except BridgeError as error:  # the record could not be read: who asks again may have more luck
            following.close()
            del self._following[id]
            message = f"{error}: this session is no longer followed, get_history begins again"
            lines = [{"type": "error", "message": message, "errorCode": "failed", "sessionId": id}]
        for line in lines:
            await self._write(line)

    # From the client

    async def _receive(self) -> None:
        while (text := await self._wire.receive()) is not None:
            try:
                message = said.read(text)
            except said.Unsupported as error:
                await self._refuse("unsupported_message", str(error))
                continue
            about = {"sessionId": getattr(message, "session_id", None)}
            about["requestId"] = getattr(message, "client_message_id", None)
            try:
                await _TABLE[type(message)](self, message)
            except CommandRefused as refusal:
                await self._refuse(refusal.code, refusal.message, **about)
            except HandrailError as error:
                await self._refuse("failed", str(error), **about)

    async def _do(self, command: str, fields: JsonObject, id: str = "") -> JsonObject:
        """Have a command done. In: its own id where the client gave it one. Out: its result. CommandRefused."""
        device, encoded = self._device, msgspec.json.encode(fields)
        receipt = await self._bridge.commands.do(
            device.id, id or str(uuid4()), command, encoded, by=device.name, scopes=device.scopes
        )
        answer: JsonObject = msgspec.json.decode(receipt)
        if not answer["ok"]:
            raise CommandRefused(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def _session(self, id: str | None) -> str:
        """The session that is meant. CommandRefused where that is not clear."""
        if id:
            return id
        if len(self._own) != 1:
            found = f"this socket has {len(self._own)} sessions" if self._own else "this socket has started none"
            raise CommandRefused("session_required", f"which session? {found}: name it by sessionId")
        return next(iter(self._own))

    # Sessions

    async def _start(self, message: said.Start) -> None:
        if message.session_id:
            return await self._go_on(message, message.session_id)
        self._check(message)
        if message.newest:
            result = await self._do("continue", {"cwd": message.project_path})
            return await self._resumed(message, result)
        chosen = {"mode": message.permission_mode, "model": message.model, "effort": message.effort}
        chosen |= {"max_turns": message.max_turns, "max_budget_usd": message.max_budget_usd}
        chosen = {name: one for name, one in chosen.items() if one is not None}
        await self._joined(await self._do("start", {"cwd": message.project_path, **chosen}))

    async def _resume(self, message: said.ResumeSession) -> None:
        await self._go_on(message, message.session_id)

    async def _go_on(self, message: said.Start | said.ResumeSession, id: str) -> None:
        self._check(message)
        folder, record = self._bridge.checked_folder(message.project_path), await self._bridge.sessions.index.get(id)
        if record is None:
            if id not in {info.id for info in await self._bridge.terminal.list(folder, limit=MOST_LISTED)}:
                raise CommandRefused("not_found", f"there is no session {id} of {message.project_path}")
        elif self._bridge.checked_folder(record.cwd) != folder:
            raise CommandRefused("bad_folder", f"session {id} is not of {message.project_path}")
        result = await self._do("fork" if message.fork_session else "resume", {"session": id})
        await self._resumed(message, result)

    def _check_count(self, session: str | None) -> None:
        if len(self._following) >= MOST_SESSIONS and session not in self._following:
            raise CommandRefused("too_many", f"{MOST_SESSIONS} sessions on one socket are the most")

    async def _resumed(self, message: said.Start | said.ResumeSession, result: JsonObject) -> None:
        """What is chosen for a session that goes on."""
        session: JsonObject = result["session"]
        id, mode = session["id"], message.permission_mode
        if mode:
            session |= await self._do("set_permission_mode", {"session": id, "mode": mode})
        if message.model:
            session |= await self._do("set_model", {"session": id, "model": message.model})
        await self._joined(result)

    def _check(self, message: said.Start | said.ResumeSession) -> None:
        """CommandRefused before anything is done."""
        if message.provider not in (None, "claude"):
            raise CommandRefused("unsupported_provider", f"there is no provider {message.provider!r} here")
        self._check_count(message.session_id)
        self._bridge.check_mode(message.permission_mode or "default")

    async def _joined(self, result: JsonObject) -> None:
        """The session is this socket's from now on."""
        session: JsonObject = result["session"]
        id = str(session["id"])
        created = {
            "type": "system",
            "subtype": "session_created",
            "sessionId": id,
            "claudeSessionId": session["conversation"] or id,
            "projectPath": session["cwd"],
            "permissionMode": session["mode"],
        }
        async with self._writing:
            await self._write({**created, "model": session["model"]} if session["model"] else created)
            host = await self._bridge.follow(id)
            following = self._following.get(id)
            if following is None:  # it learns what is open; the past is for get_history
                following, _ = await Following.begin(host, self._more, after=host.record.settled)
                self._following[id] = following
            for line in following.translation.now(host.state()):
                await self._write(line)
        self._own[id] = None
        self._more.set()
        if result.get("trust"):
            why = "the folder's own settings do not count until they are accepted, which this protocol cannot"
            await self._refuse("folder_not_trusted", why, sessionId=id)

    async def _stop(self, message: said.StopSession) -> None:
        await self._do("stop", {"session": message.session_id})
        self._own.pop(message.session_id, None)
        await self._tell({"type": "result", "subtype": "stopped", "sessionId": message.session_id})

    async def _history(self, message: said.GetHistory) -> None:
        """All up to now in one message; what was not sent yet is in it, and nothing of it comes again."""
        id = message.session_id
        self._check_count(id)
        async with self._writing:
            host = await self._bridge.follow(id)
            following, lines = await Following.begin(host, self._more)
            if (before := self._following.pop(id, None)) is not None:
                before.close()
            self._following[id] = following
            head = b'{"type":"history","sessionId":%s,"messages":[' % msgspec.json.encode(id)
            await self._write_text(head + b",".join(lines) + b"]}")
        self._more.set()

    async def _list(self, message: said.ListSessions) -> None:
        rows = active_sessions(self._bridge, [one.host.record for one in self._following.values()])
        await self._tell_list("session_list", rows)

    async def _list_recent(self, message: said.ListRecentSessions) -> None:
        places = {"limit": message.limit, "offset": message.offset}
        rows = await recent_sessions(self._bridge, **places, folder=message.project_path)
        await self._tell_list("recent_sessions", rows)

    async def _tell_list(self, type: str, rows: list[JsonObject]) -> None:
        shown = rows if "prompt" in self._device.scopes else without_paths(rows)
        await self._tell({"type": type, "sessions": shown})

    # Talking

    async def _input(self, message: said.Input) -> None:
        session, own = self._session(message.session_id), message.client_message_id
        pictures = [*(message.images or ()), *([said.Picture(message.image_base64)] if message.image_base64 else ())]
        if "prompt" not in self._device.scopes:
            pictures = []  # nothing is kept for who may not send it
        images = [await self._bridge.uploads.add(_bytes(picture.base64)) for picture in pictures]
        fields = {"session": session, "text": message.text, "images": images}
        await self._do("send", fields, f"input {session} {own}" if own else "")
        if own:
            await self._tell({"type": "input_ack", "sessionId": session, "clientMessageId": own})

    async def _approve(self, message: said.Approve) -> None:
        session = self._session(message.session_id)
        await self._reply(session, self._shown(session, message.id), behavior="allow")

    async def _approve_always(self, message: said.ApproveAlways) -> None:
        session = self._session(message.session_id)
        shown = self._shown(session, message.id)
        await self._reply(session, shown, behavior="allow", updates=[{"index": at} for at in shown.lasting])
        if not shown.lasting:
            why = "allowed once: the question offers nothing that could be allowed for the session"
            await self._refuse("allowed_once", why, sessionId=session, requestId=message.id)

    async def _reject(self, message: said.Reject) -> None:
        session = self._session(message.session_id)
        await self._reply(session, self._shown(session, message.id), behavior="deny", reason=message.message or "")

    async def _answer(self, message: said.Answer) -> None:
        session = self._session(message.session_id)
        shown = self._shown(session, message.tool_use_id)
        await self._reply(session, shown, behavior="allow", **shown.reply(message.result))

    def _shown(self, session: str, id: str) -> Shown:
        """The question as this client was shown it. CommandRefused for any other."""
        following = self._following.get(session)
        shown = following.translation.open.get(id) if following is not None else None
        if shown is None:
            raise CommandRefused("not_pending", f"nothing with the id {id} waits for an answer: get_history shows all")
        return shown

    async def _reply(self, session: str, shown: Shown, **answer: Any) -> None:
        await self._do("answer", {"session": session, "question": shown.question, "hash": shown.hash, **answer})


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CommandRefused("no_picture", "a picture is sent as base64") from None


_TABLE: Final[dict[type[said.Said], Callable[[Client, Any], Awaitable[None]]]] = {
    said.Start: Client._start,  # pyright: ignore[reportPrivateUsage]
    said.ResumeSession: Client._resume,  # pyright: ignore[reportPrivateUsage]
    said.Input: Client._input,  # pyright: ignore[reportPrivateUsage]
    said.Approve: Client._approve,  # pyright: ignore[reportPrivateUsage]
    said.ApproveAlways: Client._approve_always,  # pyright: ignore[reportPrivateUsage]
    said.Reject: Client._reject,  # pyright: ignore[reportPrivateUsage]
    said.Answer: Client._answer,  # pyright: ignore[reportPrivateUsage]
    said.ListSessions: Client._list,  # pyright: ignore[reportPrivateUsage]
    said.ListRecentSessions: Client._list_recent,  # pyright: ignore[reportPrivateUsage]
    said.StopSession: Client._stop,  # pyright: ignore[reportPrivateUsage]
    said.GetHistory: Client._history,  # pyright: ignore[reportPrivateUsage]
}
