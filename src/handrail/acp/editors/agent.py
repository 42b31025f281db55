"""The agent side of the Agent Client Protocol, for editors: the methods and what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from importlib.metadata import version
from typing import Any, Final, Literal

import msgspec

from handrail.acp.editors.base import Opening, Source
from handrail.acp.editors.session import EditorSession
from handrail.acp.editors.updates import Shows
from handrail.acp.rpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, RpcError, RpcPeer
from handrail.errors import HandrailError
from handrail.schema.acp import messages as acp
from handrail.transport.base import Transport

__all__ = ["EditorAgent"]

PROTOCOL_VERSION: Final = 1
PAGE: Final = 50
"""Sessions in one answer to `session/list`."""


class EditorAgent:
    """Serves one editor over a transport. Its sessions come from `source`."""

    def __init__(self, transport: Transport, source: Source) -> None:
        self._source = source
        self._peer = RpcPeer(transport, self._answer, self._noticed)
        self._sessions: dict[str, EditorSession] = {}
        self._opening: set[str] = set()
        self._capabilities = acp.ClientCapabilities()
        self._tasks: set[asyncio.Task[None]] = set()
        self._methods: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }

    async def run(self) -> None:
        """Serve the editor until it ends the connection; then close its sessions."""
        try:
            await self._peer.run()
        finally:
            await asyncio.gather(*(session.close() for session in self._sessions.values()), return_exceptions=True)

    # What sessions need of the editor

    async def update(self, session_id: str, update: acp.SessionUpdate) -> None:
        """Send an update of a session."""
        await self._peer.notify("session/update", {"sessionId": session_id, "update": update})

    async def request(self, method: str, params: Any) -> Any:
        """Ask the editor. Raises RpcError."""
        return await self._peer.request(method, params)

    @property
    def has_forms(self) -> bool:
        """Whether the editor can show forms."""
        elicitation = self._capabilities.elicitation
        return elicitation is not None and elicitation.form is not None

    @property
    def has_buffers(self) -> bool:
        """Whether the editor returns its text of a file."""
        files = self._capabilities.fs
        return files is not None and bool(files.read_text_file)

    @property
    def shows(self) -> Shows:
        """What the editor shows beyond the core of the protocol."""
        return Shows.of(self._capabilities)

    # Requests

    async def _answer(self, method: str, params: Any) -> Any:
        serve, types = self._methods.get(method), acp.REQUESTS.get(method)
        if serve is None or types is None:
            raise RpcError(METHOD_NOT_FOUND, f"the method {method[:80]!r} is not supported")
        try:
            given = msgspec.convert({} if params is None else params, types[0])
        except msgspec.ValidationError as error:
            raise RpcError(INVALID_PARAMS, f"{method}: {error}") from None
        try:
            return await serve(given)
        except RpcError:
            raise
        except HandrailError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from error

    def _noticed(self, method: str, params: Any) -> None:
        if method != "session/cancel":
            return
        try:
            session = self._sessions.get(msgspec.convert(params, acp.CancelNotification).session_id)
        except msgspec.ValidationError:
            return
        if session is not None:
            self._start(session.cancel())

    async def _initialize(self, request: acp.InitializeRequest) -> acp.InitializeResponse:
        self._capabilities = request.client_capabilities or acp.ClientCapabilities()
        can = acp.SessionCapabilities(
            list=acp.SessionListCapabilities(),
            resume=acp.SessionResumeCapabilities(),
            close=acp.SessionCloseCapabilities(),
            delete=acp.SessionDeleteCapabilities(),
            fork=acp.SessionForkCapabilities(),
            additional_directories=acp.SessionAdditionalDirectoriesCapabilities(),
        )
        return acp.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=acp.AgentCapabilities(
                load_session=True,
                prompt_capabilities=acp.PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=acp.McpCapabilities(http=True, sse=True),
                session_capabilities=can,
            ),
            agent_info=acp.Implementation(name="handrail", title="Handrail", version=version("handrail")),
            auth_methods=[],
        )

    async def _authenticate(self, request: acp.AuthenticateRequest) -> acp.AuthenticateResponse:
        raise RpcError(
            INVALID_PARAMS,
            f"unknown method {request.method_id!r}: sign in with `claude` or `handrail connect` in a terminal",
        )

    async def _new(self, request: acp.NewSessionRequest) -> acp.NewSessionResponse:
        session = await self._open("new", request)
        return acp.NewSessionResponse(session_id=session.id, modes=session.modes, config_options=session.config_options)

    async def _load(self, request: acp.LoadSessionRequest) -> acp.LoadSessionResponse:
        session = await self._open("load", request, request.session_id)
        return acp.LoadSessionResponse(modes=session.modes, config_options=session.config_options)

    async def _resume(self, request: acp.ResumeSessionRequest) -> acp.ResumeSessionResponse:
        session = await self._open("resume", request, request.session_id)
        return acp.ResumeSessionResponse(modes=session.modes, config_options=session.config_options)

    async def _fork(self, request: acp.ForkSessionRequest) -> acp.ForkSessionResponse:
        session = await self._open("fork", request, request.session_id)
        return acp.ForkSessionResponse(
            session_id=session.id, modes=session.modes, config_options=session.config_options
        )

    async def _list(self, request: acp.ListSessionsRequest) -> acp.ListSessionsResponse:
        cursor = request.cursor or "0"
        if not cursor.isdecimal():
            raise RpcError(INVALID_PARAMS, f"the cursor {cursor[:80]!r} is not one that session/list returned")
        start = int(cursor)
        found = await self._source.list(request.cwd, start, PAGE + 1)
        more = str(start + PAGE) if len(found) > PAGE else None
        return acp.ListSessionsResponse(sessions=list(found[:PAGE]), next_cursor=more)

    async def _close(self, request: acp.CloseSessionRequest) -> acp.CloseSessionResponse:
        session = self._known(request.session_id)
        del self._sessions[request.session_id]
        await session.close()
        return acp.CloseSessionResponse()

    async def _delete(self, request: acp.DeleteSessionRequest) -> acp.DeleteSessionResponse:
        if session := self._sessions.pop(request.session_id, None):
            await session.close()
        await self._source.delete(request.session_id)
        return acp.DeleteSessionResponse()

    async def _prompt(self, request: acp.PromptRequest) -> acp.PromptResponse:
        return await self._known(request.session_id).prompt(request.prompt)

    async def _set_mode(self, request: acp.SetSessionModeRequest) -> acp.SetSessionModeResponse:
        await self._known(request.session_id).set_mode(request.mode_id)
        return acp.SetSessionModeResponse()

    async def _set_config_option(
        self, request: acp.SetSessionConfigOptionRequest
    ) -> acp.SetSessionConfigOptionResponse:
        session = self._known(request.session_id)
        await session.set_config_option(request.config_id, request.value)
        return acp.SetSessionConfigOptionResponse(config_options=session.config_options)

    # Sessions

    def _known(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(NOT_FOUND, f"the session {session_id[:80]!r} is not open; open it with session/load")
        return session

    async def _open(
        self, how: Literal["new", "load", "resume", "fork"], request: Any, session_id: str = ""
    ) -> EditorSession:
        """Open a session as a request asks for it. Raises RpcError."""
        if getattr(request, "system_prompt", None) is not None:
            raise RpcError(INVALID_PARAMS, "a system prompt of the editor is not supported")
        opening = Opening(
            how=how,
            cwd=request.cwd,
            session=session_id,
            folders=request.additional_directories or (),
            mcp_servers=mcp_servers(request.mcp_servers or ()),
        )
        known = "" if how == "fork" else session_id
        if known in self._sessions or known in self._opening:
            raise RpcError(INVALID_PARAMS, f"the session {known!r} is open already")
        self._opening |= {known} - {""}
        session = EditorSession(self, known, request.cwd)
        try:
            session.bind(await self._source.open(opening, session))
        except RpcError:
            raise
        except HandrailError as error:
            raise RpcError(INTERNAL_ERROR, f"the session could not be opened: {error}") from error
        finally:
            self._opening.discard(known)
        self._sessions[session.id] = session
        self._start(session.announce())  # after the answer that makes the session known
        return session

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def mcp_servers(given: Any) -> dict[str, Any]:
    """The servers of an editor in the form of the CLI's configuration. Raises RpcError."""
    servers = dict[str, Any]()
    for server in given:
        try:
            kind = server.get("type", "stdio")
            if kind in ("http", "sse"):
                found = msgspec.convert(server, acp.McpServerHttp)
                headers = {header.name: header.value for header in found.headers}
                servers[found.name] = {"type": kind, "url": found.url, "headers": headers}
            else:
                local = msgspec.convert(server, acp.McpServerStdio)
                env = {variable.name: variable.value for variable in local.env}
                servers[local.name] = {"command": local.command, "args": local.args, "env": env}
        except (AttributeError, msgspec.ValidationError) as error:
            raise RpcError(INVALID_PARAMS, f"an MCP server cannot be used: {error}") from None
    return servers
