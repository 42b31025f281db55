"""Sessions of an editor that run in this process: `claude` or `handrail-agent`, through the SDK."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any
from uuid import uuid4

from handrail.acp.editors.base import EditorListener, Opening
from handrail.acp.editors.buffers import buffer_hooks
from handrail.acp.rpc import INVALID_PARAMS, NOT_FOUND, RpcError
from handrail.bridge_client.base import Listener
from handrail.client.options import Options
from handrail.client.readers import MessageReader
from handrail.client.session import Session
from handrail.schema.acp import messages as acp
from handrail.schema.handshake import Model, SlashCommand
from handrail.schema.message_view import MessageView
from handrail.schema.messages import read_message
from handrail.schema.result_message import ResultMessage

__all__ = ["LocalSource"]


class LocalSource:
    """The sessions of the CLI on this machine. `options` are those of every session."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def open(self, opening: Opening, listener: EditorListener) -> LocalSession:
        """Start the CLI."""
        if not await asyncio.to_thread(_is_folder, opening.cwd):
            raise RpcError(INVALID_PARAMS, f"cwd {opening.cwd!r} is not the absolute path of a folder")
        history = list[MessageView]()
        if opening.how == "load":
            history = await asyncio.to_thread(_history, opening.session)
        elif opening.session:
            await asyncio.to_thread(_find, opening.session)
        resumed = {"resume": opening.session} if opening.session else {}
        forked = {"fork_session": True} if opening.how == "fork" else {}
        named = {} if resumed and not forked else {"session_id": str(uuid4())}
        options = self._options.replace(
            **resumed,
            **forked,
            **named,
            cwd=opening.cwd,
            add_dirs=[*self._options.add_dirs, *opening.folders],
            mcp_servers=opening.mcp_servers,
            include_partial_messages=True,
            can_use_tool=listener.permission,
            approve_plan=listener.plan,
            on_elicitation=listener.elicitation,
            hooks=buffer_hooks(listener.buffer) if listener.has_buffers else {},
        )
        session = LocalSession(options, listener)
        try:
            await session.start(history)
        except BaseException:
            await session.close()
            raise
        return session

    async def list(self, cwd: str | None, start: int, limit: int) -> Sequence[acp.SessionInfo]:
        """The transcripts on this machine."""
        from handrail.transcripts import list_sessions

        found = await asyncio.to_thread(list_sessions, cwd)
        return [
            acp.SessionInfo(
                session_id=info.id,
                cwd=info.cwd or cwd or os.getcwd(),
                title=info.title or None,
                updated_at=info.modified.astimezone(UTC).isoformat(),
            )
            for info in found[start : start + limit]
        ]

    async def delete(self, session_id: str) -> None:
        """Delete the transcript."""
        from handrail.transcripts import delete_session

        await asyncio.to_thread(_find, session_id)
        await asyncio.to_thread(delete_session, session_id)


class LocalSession:
    """A session of the SDK. It ends with the editor."""

    def __init__(self, options: Options, listener: Listener) -> None:
        self._session, self._listener = Session(options), listener
        self.id, self.cwd = self._session.id, str(options.cwd)
        self.may_bypass = options.allow_dangerously_skip_permissions
        self.mode, self.model = "default", options.model or "default"
        self.models: list[Model] = []
        self._pump: asyncio.Task[None] | None = None
        self._passed_on: deque[str] = deque(maxlen=64)
        """The newest results up to which the listener has received everything."""
        self._more = asyncio.Condition()
        self._ended = False

    @property
    def commands(self) -> list[SlashCommand]:
        return self._session.commands

    async def start(self, history: Sequence[MessageView]) -> None:
        """Start the CLI; the listener receives the history first."""
        await self._session.start()
        messages = self._session.messages()
        info = await self._session.ready()
        self.mode, self.models = info.current_permission_mode or "default", info.models
        for message in history:
            await self._listener.received(message, stored=True)
        self._pump = asyncio.create_task(self._pass_on(messages))

    async def close(self) -> None:
        """End the CLI."""
        await self._session.close()
        if self._pump is not None:
            await asyncio.wait([self._pump])

    async def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> ResultMessage:
        result = (await (await self._session.send(list(blocks)))).message
        async with self._more:
            await self._more.wait_for(lambda: self._ended or result.uuid in self._passed_on)
        return result

    async def interrupt(self) -> None:
        await self._session.interrupt(cancel_queued=True)

    async def set_permission_mode(self, mode: str) -> None:
        await self._session.set_permission_mode(mode)

    async def set_model(self, model: str) -> None:
        await self._session.set_model(model)
        self.model = model

    async def _pass_on(self, messages: MessageReader) -> None:
        try:
            async for message in messages:
                await self._listener.received(message, stored=False)
                if isinstance(message, ResultMessage):
                    await self._note(message.uuid)
        finally:
            self._ended = True
            await self._note("")

    async def _note(self, result: str) -> None:
        async with self._more:
            self._passed_on.append(result)
            self._more.notify_all()


def _is_folder(path: str) -> bool:
    return os.path.isabs(path) and os.path.isdir(path)


def _find(session_id: str) -> None:
    from handrail.transcripts import TranscriptError, locate

    try:
        locate(session_id)
    except TranscriptError as error:
        raise RpcError(NOT_FOUND, str(error)) from None


def _history(session_id: str) -> list[MessageView]:
    from handrail.transcripts import TranscriptError, read_session

    try:
        transcript = read_session(session_id)
    except TranscriptError as error:
        raise RpcError(NOT_FOUND, str(error)) from None
    return [read_message(entry.type, "", entry.raw) for entry in transcript.messages]
