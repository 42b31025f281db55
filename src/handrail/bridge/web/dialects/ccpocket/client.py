"""Serves one client of the ccpocket protocol on one socket.

| client message | fields; extensions | answer |
|---|---|---|
| start | projectPath, sessionId?, continue?, permissionMode?; model, effort, limits, forkSession | system, status |
| resume_session | sessionId, projectPath, permissionMode?; model, forkSession | system, status, open questions |
| input | text, sessionId?; clientMessageId, images | input_ack if it has a clientMessageId |
| approve, approve_always, reject | id, sessionId?; message | |
| answer | toolUseId, result, sessionId? | |
| list_sessions | | session_list |
| list_recent_sessions | limit?; offset, projectPath | recent_sessions |
| stop_session | sessionId | result: stopped |
| get_history | sessionId | history |

The socket follows every session that it starts, resumes, sends a prompt or an answer to, or requests the history of. A
session followed without its history begins with its status and its open questions. Failures are reported by `error`
with an errorCode, and the socket stays open. Messages are processed in order, one at a time. `translation` describes
the messages sent for the events of a session.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import uuid4

import msgspec

from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects.base import CcpocketBackend, Wire
from handrail.bridge.web.dialects.ccpocket import messages
from handrail.bridge.web.dialects.ccpocket.following import Following
from handrail.bridge.web.dialects.ccpocket.lists import active_sessions, recent_sessions, without_paths
from handrail.bridge.web.dialects.ccpocket.translation import ShownQuestion
from handrail.errors import HandrailError

__all__ = ["Client"]

JsonObject = dict[str, Any]
MAX_SESSIONS: Final = 64
"""Sessions that one socket may follow."""
MAX_SCANNED: Final = 100_000
"""Terminal sessions searched for an id."""


class _SocketClosed(Exception):
    """The socket failed while it was written to."""


class Client:
    """One socket."""

    def __init__(self, backend: CcpocketBackend, device: Device, wire: Wire) -> None:
        self._backend, self._device, self._wire = backend, device, wire
        self._more = asyncio.Event()
        self._writing = asyncio.Lock()
        self._following: dict[str, Following] = {}
        self._own: dict[str, None] = {}
        """Sessions started or resumed by this socket: the default for messages without a sessionId."""

    async def run(self) -> None:
        """Serve the client until it disconnects."""
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
            if isinstance(error, Exception) and not isinstance(error, _SocketClosed):
                raise error

    # Sending

    async def _tell(self, line: JsonObject) -> None:
        async with self._writing:
            await self._write(line)

    async def _write(self, line: JsonObject) -> None:
        await self._write_text(msgspec.json.encode(line))

    async def _write_text(self, line: bytes) -> None:
        try:
            await self._wire.send(line.decode())
        except Exception as error:  # servers report a broken socket by different exceptions
            raise _SocketClosed from error

    async def _report(self, code: str, message: str, **fields: str | None) -> None:
        given = {name: value for name, value in fields.items() if value}
        await self._tell({"type": "error", "message": message, "errorCode": code, **given})

    async def _send(self) -> None:
        """Send pending messages of the followed sessions, a page of each in turn."""
        while True:
            self._more.clear()
            for id, following in list(self._following.items()):
                await self._send_page(id, following)
            if not any(following.pending for following in self._following.values()):
                await self._more.wait()

    async def _send_page(self, id: str, following: Following) -> None:
        async with self._writing:
            if not following.pending or self._following.get(id) is not following:
                return
            try:
                lines = await following.next()
            except BridgeError as error:
                following.close()
                del self._following[id]
                message = f"{error}; session {id} is no longer followed, send get_history to retry"
                lines = [{"type": "error", "message": message, "errorCode": "failed", "sessionId": id}]
            for line in lines:
                await self._write(line)

    # Receiving

    async def _receive(self) -> None:
        while (text := await self._wire.receive()) is not None:
            try:
                message = messages.decode(text)
            except messages.UnsupportedMessage as error:
                await self._report("unsupported_message", str(error))
                continue
            about = {"sessionId": getattr(message, "session_id", None)}
            about["requestId"] = getattr(message, "client_message_id", None)
            try:
                await _HANDLERS[type(message)](self, message)
            except CommandRefused as refusal:
                await self._report(refusal.code, refusal.message, **about)
            except HandrailError as error:
                await self._report("failed", str(error), **about)

    async def _do(self, command: str, fields: JsonObject, id: str = "") -> JsonObject:
        """Run a command and return its result. The same `id` runs it once. Raises CommandRefused."""
        device, encoded = self._device, msgspec.json.encode(fields)
        receipt = await self._backend.commands.do(
            device.id, id or str(uuid4()), command, encoded, by=device.name, scopes=device.scopes
        )
        answer: JsonObject = msgspec.json.decode(receipt)
        if not answer["ok"]:
            raise CommandRefused(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def _session(self, id: str | None) -> str:
        """The session a message is about. Raises CommandRefused if that is ambiguous."""
        if id:
            return id
        if len(self._own) != 1:
            why = f"sessionId is missing and this socket has {len(self._own) or 'no'} sessions; name the session"
            raise CommandRefused("session_required", why)
        return next(iter(self._own))

    # Following

    def _check_count(self, session: str | None) -> None:
        if len(self._following) >= MAX_SESSIONS and session not in self._following:
            raise CommandRefused("too_many", f"this socket follows {MAX_SESSIONS} sessions already; open another one")

    async def _follow(self, id: str, *, answering: str = "") -> Following:
        """Follow a session that the client named, if the socket does not follow it yet.

        Sends the status and the open questions first, except the question that is being answered: the client knows it.
        """
        self._check_count(id)
        async with self._writing:
            following, new = await self._attach(id)
            if new:
                for line in following.translation.snapshot(following.host.state(), without=answering):
                    await self._write(line)
        self._more.set()
        return following

    async def _attach(self, id: str) -> tuple[Following, bool]:
        """The position in a session, and whether it is new. The caller holds the write lock."""
        host, following = await self._backend.router.follow(id), self._following.get(id)
        if following is not None and following.host is host:
            return following, False
        # A deleted or moved session has a new host, and the feed of the old one stays silent.
        # Reading starts where the session was last idle: that is enough to know the open questions and pending calls.
        new, _ = await Following.begin(host, self._more, after=host.record.settled)
        self._replace(id, new)
        return new, True

    def _replace(self, id: str, following: Following) -> None:
        if (before := self._following.pop(id, None)) is not None:
            before.close()
        self._following[id] = following

    # Sessions

    async def _start(self, message: messages.Start) -> None:
        if message.session_id:
            return await self._resume_by_id(message, message.session_id)
        self._check(message)
        if message.continue_latest:
            result = await self._do("continue", {"cwd": message.project_path})
            return await self._resumed(message, result)
        options = {"mode": message.permission_mode, "model": message.model, "effort": message.effort}
        options |= {"max_turns": message.max_turns, "max_budget_usd": message.max_budget_usd}
        options = {name: one for name, one in options.items() if one is not None}
        await self._joined(await self._do("start", {"cwd": message.project_path, **options}))

    async def _resume(self, message: messages.ResumeSession) -> None:
        await self._resume_by_id(message, message.session_id)

    async def _resume_by_id(self, message: messages.Start | messages.ResumeSession, id: str) -> None:
        self._check(message)
        backend, path = self._backend, message.project_path
        folder, record = backend.workspace.checked_folder(path), await backend.sessions.index.get(id)
        if record is None:
            if id not in {info.id for info in await backend.terminal.list(folder, limit=MAX_SCANNED)}:
                why = f"session {id} not found in {path}; list_recent_sessions shows the sessions of this machine"
                raise CommandRefused("not_found", why)
        elif backend.workspace.checked_folder(record.cwd) != folder:
            raise CommandRefused("bad_folder", f"session {id} belongs to another folder than {path}")
        result = await self._do("fork" if message.fork_session else "resume", {"session": id})
        await self._resumed(message, result)

    async def _resumed(self, message: messages.Start | messages.ResumeSession, result: JsonObject) -> None:
        """Apply the options of the message to a resumed session."""
        session: JsonObject = result["session"]
        id, mode = session["id"], message.permission_mode
        if mode:
            session |= await self._do("set_permission_mode", {"session": id, "mode": mode})
        if message.model:
            session |= await self._do("set_model", {"session": id, "model": message.model})
        await self._joined(result)

    def _check(self, message: messages.Start | messages.ResumeSession) -> None:
        """Raise CommandRefused before anything is changed."""
        if message.provider not in (None, "claude"):
            raise CommandRefused("unsupported_provider", f"unsupported provider {message.provider!r}; use 'claude'")
        self._check_count(message.session_id)
        self._backend.workspace.check_mode(message.permission_mode or "default")

    async def _joined(self, result: JsonObject) -> None:
        """Announce a session that this socket started or resumed, and follow it."""
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
            following, _ = await self._attach(id)
            for line in following.translation.snapshot(following.host.state()):
                await self._write(line)
        self._own[id] = None
        self._more.set()
        if result.get("trust"):
            why = "the folder is not trusted, so its own settings are ignored; trust it in the web page"
            await self._report("folder_not_trusted", why, sessionId=id)

    async def _stop(self, message: messages.StopSession) -> None:
        await self._do("stop", {"session": message.session_id})
        self._own.pop(message.session_id, None)
        await self._tell({"type": "result", "subtype": "stopped", "sessionId": message.session_id})

    async def _history(self, message: messages.GetHistory) -> None:
        """Send all messages so far at once. Messages not sent yet are part of it and are not repeated."""
        id = message.session_id
        self._check_count(id)
        async with self._writing:
            following, lines = await Following.begin(await self._backend.router.follow(id), self._more)
            self._replace(id, following)
            head = b'{"type":"history","sessionId":%s,"messages":[' % msgspec.json.encode(id)
            await self._write_text(head + b",".join(lines) + b"]}")
        self._more.set()

    async def _list(self, message: messages.ListSessions) -> None:
        rows = active_sessions(self._backend, [one.host.record for one in self._following.values()])
        await self._tell_list("session_list", rows)

    async def _list_recent(self, message: messages.ListRecentSessions) -> None:
        page = {"limit": message.limit, "offset": message.offset}
        rows = await recent_sessions(self._backend, **page, folder=message.project_path)
        await self._tell_list("recent_sessions", rows)

    async def _tell_list(self, type: str, rows: list[JsonObject]) -> None:
        shown = rows if "prompt" in self._device.scopes else without_paths(rows)
        await self._tell({"type": type, "sessions": shown})

    # Prompts and answers

    async def _input(self, message: messages.Input) -> None:
        session, own = self._session(message.session_id), message.client_message_id
        await self._follow(session)
        images = list(message.images or ())
        images += [messages.Picture(message.image_base64)] if message.image_base64 else []
        if "prompt" not in self._device.scopes:
            images = []  # the command is refused, so nothing may be stored
        ids = [await self._backend.uploads.add(_bytes(image.base64)) for image in images]
        fields = {"session": session, "text": message.text, "images": ids}
        await self._do("send", fields, f"input {session} {own}" if own else "")
        if own:
            await self._tell({"type": "input_ack", "sessionId": session, "clientMessageId": own})

    async def _approve(self, message: messages.Approve) -> None:
        session = self._session(message.session_id)
        await self._answer_shown(session, await self._shown(session, message.id), behavior="allow")

    async def _approve_always(self, message: messages.ApproveAlways) -> None:
        session = self._session(message.session_id)
        shown = await self._shown(session, message.id)
        if grants := shown.session_grants:
            await self._answer_shown(session, shown, behavior="allow", updates=[{"index": at} for at in grants])
        elif not shown.asked_every_time:
            await self._answer_shown(session, shown, behavior="allow", remember=True)
        else:
            await self._answer_shown(session, shown, behavior="allow")
            why = f"{message.id} was allowed once; this kind of question is asked every time"
            await self._report("allowed_once", why, sessionId=session, requestId=message.id)

    async def _reject(self, message: messages.Reject) -> None:
        session = self._session(message.session_id)
        shown = await self._shown(session, message.id)
        await self._answer_shown(session, shown, behavior="deny", reason=message.message or "")

    async def _answer(self, message: messages.Answer) -> None:
        session = self._session(message.session_id)
        shown = await self._shown(session, message.tool_use_id)
        await self._answer_shown(session, shown, behavior="allow", **shown.answer_fields(message.result))

    async def _shown(self, session: str, id: str) -> ShownQuestion:
        """The open question with this id. Raises CommandRefused if it was answered or never asked."""
        following = await self._follow(session, answering=id)
        open = following.translation.open
        # A client may know the question from another socket before this one has sent it.
        while id not in open and following.pending and self._following.get(session) is following:
            await self._send_page(session, following)
        if id not in open:
            raise CommandRefused("not_pending", f"question {id} is not pending; get_history shows the open questions")
        return open[id]

    async def _answer_shown(self, session: str, shown: ShownQuestion, **answer: Any) -> None:
        await self._do("answer", {"session": session, "question": shown.question, "hash": shown.hash, **answer})


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CommandRefused(
            "no_picture", "invalid base64 in an image; send standard base64 without a prefix"
        ) from None


_HANDLERS: Final[dict[type[messages.ClientMessage], Callable[[Client, Any], Awaitable[None]]]] = {
    messages.Start: Client._start,  # pyright: ignore[reportPrivateUsage]
    messages.ResumeSession: Client._resume,  # pyright: ignore[reportPrivateUsage]
    messages.Input: Client._input,  # pyright: ignore[reportPrivateUsage]
    messages.Approve: Client._approve,  # pyright: ignore[reportPrivateUsage]
    messages.ApproveAlways: Client._approve_always,  # pyright: ignore[reportPrivateUsage]
    messages.Reject: Client._reject,  # pyright: ignore[reportPrivateUsage]
    messages.Answer: Client._answer,  # pyright: ignore[reportPrivateUsage]
    messages.ListSessions: Client._list,  # pyright: ignore[reportPrivateUsage]
    messages.ListRecentSessions: Client._list_recent,  # pyright: ignore[reportPrivateUsage]
    messages.StopSession: Client._stop,  # pyright: ignore[reportPrivateUsage]
    messages.GetHistory: Client._history,  # pyright: ignore[reportPrivateUsage]
}
