"""Files that an ACP agent reads and writes through its client, `fs/read_text_file` and `fs/write_text_file`.

They stay in the working folders, and rules and modes decide as for the tools Read and Write. Where these would ask, a
write passes if the agent was allowed to change the same file in this turn; agents ask for a call before they make it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from handrail.acp.agents.permission_requests import PermissionRequests
from handrail.acp.rpc import INVALID_PARAMS, NOT_FOUND, RpcError
from handrail.agent.session import Session
from handrail.files.errors import FileError, FileNotThere
from handrail.files.open import read_resolved, write_resolved
from handrail.files.resolve import real_path, resolve
from handrail.permissions.paths.matching import Resolved
from handrail.permissions.paths.names import is_below
from handrail.schema.acp import messages as acp

__all__ = ["ClientFiles"]

_METHODS: Final = {"Read": "fs/read_text_file", "Write": "fs/write_text_file"}


class ClientFiles:
    """Serves the requests of one session. `report` tells the host what the agent tried outside of its folders."""

    def __init__(
        self, session: Session, permissions: PermissionRequests, report: Callable[[str], Awaitable[None]]
    ) -> None:
        self._session, self._permissions, self._report = session, permissions, report

    async def read(self, request: acp.ReadTextFileRequest) -> acp.ReadTextFileResponse:
        """Read a file, or `limit` lines from `line` on. Raises RpcError."""
        resolved = await self._resolve("Read", {"file_path": request.path})
        try:
            text = read_resolved(resolved).decode("utf-8", "replace")
        except FileNotThere as error:
            raise RpcError(NOT_FOUND, str(error)) from None
        except FileError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        if request.line is not None or request.limit is not None:
            start = max((request.line or 1) - 1, 0)
            end = None if request.limit is None else start + max(request.limit, 0)
            text = "".join(text.splitlines(keepends=True)[start:end])
        return acp.ReadTextFileResponse(content=text)

    async def write(self, request: acp.WriteTextFileRequest) -> acp.WriteTextFileResponse:
        """Write a whole file; missing folders are made. Raises RpcError."""
        resolved = await self._resolve("Write", {"file_path": request.path, "content": request.content})
        try:
            write_resolved(resolved, request.content.encode("utf-8", "replace"), make_folders=True)
        except FileError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        return acp.WriteTextFileResponse()

    async def _resolve(self, tool: str, given: dict[str, str]) -> Resolved:
        """The file of a request. Raises RpcError where it is outside of the working folders, or not allowed."""
        path = given["file_path"]
        resolved = resolve(path, self._session.circumstances.anchors)
        folders = [real_path(folder) for folder in (self._session.cwd, *self._session.folders)]
        if resolved.real is None or not any(is_below(resolved.real, folder) for folder in folders):
            place = "is not in the working folders of the session"
            await self._report(f"{_METHODS[tool]} for {path[:200]}, which {place}")
            raise RpcError(INVALID_PARAMS, f"{path[:200]} {place}")
        if refusal := await self._permissions.refusal_of_file(tool, given, resolved):
            raise RpcError(INVALID_PARAMS, refusal)
        return resolved
