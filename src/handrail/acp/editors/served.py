"""Sessions of an editor that run on a bridge, where the page and other clients see them too."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from handrail.acp.editors.base import Opening
from handrail.acp.rpc import INVALID_PARAMS, NOT_FOUND, RpcError
from handrail.bridge_client.base import CommandFailed, Listener
from handrail.bridge_client.connection import BridgeConnection
from handrail.bridge_client.session import ServerSession
from handrail.schema.acp import messages as acp

__all__ = ["ServerSource"]

_CODES: Final = {
    "not_found": NOT_FOUND,
    "404": NOT_FOUND,
    **dict.fromkeys(("bad_folder", "bad_fields", "unknown_agent"), INVALID_PARAMS),
}


class ServerSource:
    """The sessions of one bridge. `choices` are the model, permission mode and ACP agent of new sessions."""

    def __init__(self, connection: BridgeConnection, **choices: str | None) -> None:
        self._connection = connection
        self._choices = {name: value for name, value in choices.items() if value is not None}

    async def open(self, opening: Opening, listener: Listener) -> ServerSession:
        """Start a session there, or follow one."""
        if opening.folders and opening.how != "new":
            raise RpcError(INVALID_PARAMS, "the folders of a session on a server cannot be changed")
        id = await self._opened(opening)
        session = ServerSession(self._connection, id, listener)
        try:
            await self._follow(session, opening)
        except BaseException:
            await session.close()
            raise
        return session

    async def _opened(self, opening: Opening) -> str:
        """The id of the session to follow: a new one, a fork, or the one that exists."""
        if opening.how == "new":
            fields = {"cwd": opening.cwd, "add_dirs": list(opening.folders), **self._choices}
            return (await self._do("start", **fields))["session"]["id"]
        if opening.how == "fork":
            return (await self._do("fork", session=opening.session))["session"]["id"]
        return opening.session

    async def _follow(self, session: ServerSession, opening: Opening) -> None:
        history = opening.how == "load"
        try:
            await session.open(history=history)
        except CommandFailed as refusal:
            if refusal.code != "not_found":
                raise
            await self._do("resume", session=session.id)  # imports a session of a CLI on the server's machine
            await session.open(history=history)
        if not await asyncio.to_thread(_is_same, session.cwd, opening.cwd):
            raise RpcError(INVALID_PARAMS, f"the session belongs to the folder {session.cwd}, not to {opening.cwd}")
        if opening.mcp_servers:
            await self._do("resume", session=session.id)  # servers are given to a running process
            await self._do("mcp_set", session=session.id, servers=dict(opening.mcp_servers))

    async def list(self, cwd: str | None, start: int, limit: int) -> Sequence[acp.SessionInfo]:
        """The sessions of the bridge that are not archived."""
        link, wanted = self._connection.link, start + limit
        if cwd is None:
            found = await link.sessions("", start, limit)
        else:  # the words match titles too
            found = [one for one in await link.sessions(cwd, 0, 10_000) if one["cwd"] == cwd][start:wanted]
        return [_info(one) for one in found]

    async def delete(self, session_id: str) -> None:
        """Delete the session with its transcript."""
        await self._do("delete", session=session_id, transcript=True)

    async def _do(self, command: str, **fields: Any) -> dict[str, Any]:
        try:
            return await self._connection.command(command, **fields)
        except CommandFailed as refusal:
            if refusal.code in _CODES:
                raise RpcError(_CODES[refusal.code], str(refusal)) from None
            raise


def _is_same(folder: str, other: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(other)


def _info(line: dict[str, Any]) -> acp.SessionInfo:
    changed = datetime.fromtimestamp(line["changed"] / 1000, UTC).isoformat()
    return acp.SessionInfo(session_id=line["id"], cwd=line["cwd"], title=line["title"] or None, updated_at=changed)
