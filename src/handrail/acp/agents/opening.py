"""Opens the session of an ACP agent that the flags ask for: new, resumed or forked.

Flags that need a capability the agent lacks are refused with an error that names both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from handrail.acp.agents.agent_process import AgentError, AgentProcess
from handrail.agent.mcp.config import ConfigError, ServerConfig, read_config, read_configs
from handrail.agent.session import Session
from handrail.schema.acp import messages as acp

__all__ = ["Opened", "latest_session", "open_session"]

JsonObject = dict[str, Any]
MOST_PAGES: Final = 20
"""Pages of an agent's list of sessions that are read to find the newest."""
_NO_SESSIONS: Final = acp.SessionCapabilities()


class Opened(Struct, frozen=True):
    """A session of the agent: its id there, and the agent's answer with modes and options."""

    agent_session: str
    answer: JsonObject


async def open_session(agent: AgentProcess, session: Session, earlier: str, *, fork: bool) -> Opened:
    """Open a session in the folder of `session`; `earlier` is the agent's id of one to continue. Raises AgentError."""
    can = agent.capabilities.session_capabilities or _NO_SESSIONS
    fields = _fields(agent, session, can)
    if not earlier:
        return _opened(agent, await agent.request("session/new", fields))
    fields["sessionId"] = earlier
    if fork:
        if can.fork is None:
            raise AgentError(f"{agent.name} cannot fork sessions (it lacks sessionCapabilities.fork)")
        return _opened(agent, await agent.request("session/fork", fields))
    if can.resume is None and not agent.capabilities.load_session:
        raise AgentError(f"{agent.name} cannot continue earlier sessions (it lacks loadSession); start a new one")
    # `session/load` sends the history again, which hosts have already.
    method = "session/load" if can.resume is None else "session/resume"
    try:
        answer = await agent.request(method, fields)
    except AgentError as error:  # many agents do not name the session
        raise AgentError(f"session {earlier[:80]} cannot be continued: {error}", ended=error.ended) from None
    return Opened(earlier, cast("JsonObject", answer) if isinstance(answer, dict) else {})


async def latest_session(agent: AgentProcess, cwd: str) -> str:
    """The agent's id of its newest session in a folder; "" without one, or without a list. Raises AgentError."""
    if (agent.capabilities.session_capabilities or _NO_SESSIONS).list is None:
        return ""
    newest, cursor = ("", ""), None
    for _ in range(MOST_PAGES):
        found = await agent.request("session/list", acp.ListSessionsRequest(cwd=cwd, cursor=cursor))
        try:
            page = msgspec.convert(found, acp.ListSessionsResponse)
        except msgspec.ValidationError as error:
            raise AgentError(f"{agent.name} has answered `session/list` with an invalid message: {error}") from None
        # The times are ISO 8601; agents that ignore `cwd` list the sessions of all folders.
        dated = [(each.updated_at or "", each.session_id) for each in page.sessions if each.cwd == cwd]
        newest, cursor = max([newest, *dated]), page.next_cursor
        if not cursor:
            break
    return newest[1]


def _opened(agent: AgentProcess, answer: Any) -> Opened:
    fields = cast("JsonObject", answer) if isinstance(answer, dict) else {}
    id = fields.get("sessionId")
    if not isinstance(id, str) or not id:
        raise AgentError(f"{agent.name} opened a session without a sessionId")
    return Opened(id, fields)


def _fields(agent: AgentProcess, session: Session, can: acp.SessionCapabilities) -> JsonObject:
    fields: JsonObject = {"cwd": session.cwd, "mcpServers": _servers(agent, session)}
    if session.folders:
        if can.additional_directories is None:
            raise AgentError(
                f"{agent.name} works in one folder (it lacks sessionCapabilities.additionalDirectories);"
                f" leave out --add-dir {session.folders[0]}"
            )
        fields["additionalDirectories"] = list(session.folders)
    prompt, mode = session.system_prompt, "override"
    if not prompt:
        prompt, mode = session.append_system_prompt, "append"
    if prompt:
        has_mode = can.system_prompt is not None and (mode == "append" or can.system_prompt.mode is not None)
        if not has_mode:
            raise AgentError(f"{agent.name} takes no system prompt (it lacks sessionCapabilities.systemPrompt)")
        fields["systemPrompt"] = acp.SystemPrompt(mode=mode, content=[acp.TextContent(text=prompt)])
    return fields


def _servers(agent: AgentProcess, session: Session) -> list[JsonObject]:
    """The servers of --mcp-config. Raises AgentError."""
    can = agent.capabilities.mcp_capabilities or acp.McpCapabilities()
    found: list[JsonObject] = []
    for name, entry in read_configs(session.arguments.mcp_config, session.cwd).items():
        try:
            config = read_config(entry, session.environment)
        except ConfigError as error:
            raise AgentError(f"--mcp-config: server {name[:80]}: {error}") from None
        if config.kind == "sdk" or (config.kind != "stdio" and not getattr(can, config.kind)):
            raise AgentError(f"{agent.name} cannot use the MCP server {name[:80]}: it lacks the type {config.kind}")
        found.append({"name": name, **_server(config)})
    return found


def _server(config: ServerConfig) -> JsonObject:
    if config.kind == "stdio":
        return {"command": config.argv[0], "args": list(config.argv[1:]), "env": _pairs(config.env)}
    return {"type": config.kind, "url": config.url, "headers": _pairs(config.headers)}


def _pairs(given: Mapping[str, str]) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in given.items()]
