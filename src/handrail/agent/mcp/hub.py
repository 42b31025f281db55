"""The MCP servers of a session: their connections, tools, resources and prompts.

Servers connect in the background. `ready` waits for them before the first turn, but never longer than its limit, so a
slow or dead server does not block the session.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from handrail.agent.errors import McpError
from handrail.agent.mcp.channels import SdkChannel, SendToHost, StdioChannel
from handrail.agent.mcp.config import ConfigError, ServerConfig, read_config, server_environment
from handrail.agent.mcp.content import clean, server_key
from handrail.agent.mcp.link import ServerLink
from handrail.agent.mcp.rpc import Channel
from handrail.agent.mcp.tools import ListMcpResources, ReadMcpResource, mcp_tool
from handrail.agent.tools.base import Tool

if TYPE_CHECKING:
    from handrail.agent.mcp.oauth import SignIn

__all__ = ["BegunSignIn", "McpHub"]

JsonObject = dict[str, Any]

CONNECT_LIMIT: Final = 30.0
FILE_SERVER_WAIT: Final = 2.0
"""Seconds that a turn waits for servers that the user did not name for this session."""
CALL_LIMIT: Final = 3600.0
MOST_SERVERS: Final = 64
MOST_RESOURCES: Final = 1000
_RESOURCE_TEXTS: Final = ("uri", "name", "title", "description", "mimeType")
_HINTS: Final = {"readOnlyHint": "readOnly", "destructiveHint": "destructive", "openWorldHint": "openWorld"}


class BegunSignIn(NamedTuple):
    """A sign-in that has begun. `address` is "" if the server required none."""

    address: str
    state: str
    port: int
    """The port on which the agent listens for the browser's redirect; 0 if the host receives it."""


class McpHub:
    """The servers of one session, by name.

    `config_home` has the credentials of sign-ins. MCP_TIMEOUT and MCP_TOOL_TIMEOUT (milliseconds) change the limits.
    """

    def __init__(
        self,
        send: SendToHost,
        elicit: Callable[[JsonObject], Awaitable[JsonObject]],
        environment: Mapping[str, str],
        cwd: str,
        *,
        config_home: str,
        version: str = "0",
        on_prompts: Callable[[], None] = lambda: None,
    ) -> None:
        self._send, self._elicit, self._environment, self._cwd = send, elicit, environment, cwd
        self._on_prompts = on_prompts
        self._version, self._config_home = version, config_home
        self._sign_ins: dict[str, SignIn] = {}
        self._links: dict[str, ServerLink] = {}
        self._held: dict[str, JsonObject] = {}
        self._errors: dict[str, JsonObject] = {}
        self._pins: dict[str, str] = {}
        self._connecting: dict[str, asyncio.Task[None]] = {}
        self._late: set[asyncio.Task[None]] = set()
        """Connections that were not ready in time; no turn waits for them again."""
        self._started = False
        self._connect_limit = _seconds(environment.get("MCP_TIMEOUT"), CONNECT_LIMIT)
        self._call_limit = _seconds(environment.get("MCP_TOOL_TIMEOUT"), CALL_LIMIT)

    # Configuration

    def configure(
        self, servers: Mapping[str, Any], *, scope: str, approved: bool = True, disabled: Container[str] = ()
    ) -> list[str]:
        """Add servers and return the new names; invalid entries are listed in `errors`.

        The first server with a name keeps it, except that servers of the command line and of the host replace those of
        files. A server that is not `approved` or that is `disabled` is listed, but not connected.
        """
        added: list[str] = []
        for name, entry in servers.items():
            try:
                config = read_config(entry, self._environment, scope=scope)
                key = self._free_key(name, config, scope)
            except ConfigError as error:
                self._refuse(name, str(error))
                continue
            if not approved:
                self._held[name] = {"name": name, "status": "pending", "source": scope, "scope": scope}
            elif key:
                self._held.pop(name, None)
                link = self._links[name] = self._link(name, key, config, scope)
                added.append(name)
                if name in disabled:
                    link.status = "disabled"
                elif self._started:
                    self._connect(name)
        return added

    def _free_key(self, name: str, config: ServerConfig, scope: str) -> str:
        """The key of a new server; "" for one that is already configured."""
        key = server_key(name)
        if not key:
            raise ConfigError("its name must have 1 to 64 letters or digits")
        there = self._links.get(name)
        if there is not None and (there.config == config or scope != "dynamic" or there.scope == "dynamic"):
            return ""
        if there is not None:
            self._forget(name)
        if other := next((link.name for link in self._links.values() if link.key == key), ""):
            raise ConfigError(f"its tools would have the same names as those of {clean(other, 80)!r}")
        if len(self._links) >= MOST_SERVERS:
            raise ConfigError(f"the limit is {MOST_SERVERS} servers")
        return key

    def _refuse(self, name: str, reason: str) -> None:
        shown = clean(name, 80)
        text = f'the MCP server "{shown}" was left out; its configuration is invalid: {reason}'
        self._errors[name] = {"name": shown, "type": "invalid_config", "message": text}

    def _link(self, name: str, key: str, config: ServerConfig, scope: str) -> ServerLink:
        return ServerLink(
            name,
            key,
            config,
            scope=scope,
            channel=lambda: self._channel(name, config),
            elicit=self._elicit,
            cwd=self._cwd,
            connect_limit=self._connect_limit,
            version=self._version,
            on_prompts=self._on_prompts,
        )

    def _channel(self, name: str, config: ServerConfig) -> Channel:
        if config.kind == "sdk":
            return SdkChannel(name, self._send)
        if config.kind == "stdio":
            return StdioChannel(config.argv, cwd=self._cwd, env=server_environment(config, self._environment))
        from handrail.agent.mcp.http_channel import HttpChannel

        return HttpChannel(name, config, self._config_home, limit=self._connect_limit)

    def start(self) -> None:
        """Start connecting to all servers, without waiting."""
        self._started = True
        for name, link in self._links.items():
            if link.status == "pending" and name not in self._connecting:
                self._connect(name)

    def _connect(self, name: str) -> asyncio.Task[None]:
        before, link = self._connecting.get(name), self._links[name]

        async def connect() -> None:
            if before is not None:
                await asyncio.wait([before])
            await link.connect()

        task = self._connecting[name] = asyncio.create_task(connect())
        task.add_done_callback(lambda done: self._connecting.get(name) is done and self._connecting.pop(name))
        task.add_done_callback(self._late.discard)
        return task

    def _forget(self, name: str) -> None:
        """Remove a server and close it in the background."""
        link, before = self._links.pop(name), self._connecting.pop(name, None)
        sign_in = self._sign_ins.pop(name, None)

        async def close() -> None:
            if sign_in is not None:
                await sign_in.cancel()
            if before is not None:
                before.cancel()
                await asyncio.wait([before])
            await link.close()

        task = self._connecting[f"\0{name}{id(link)}"] = asyncio.create_task(close())
        task.add_done_callback(lambda _: self._connecting.pop(f"\0{name}{id(link)}", None))

    async def ready(self, limit: float = 60.0) -> None:
        """Wait for servers that are connecting, at most `limit` seconds, and for changed lists of tools and prompts.

        A server from a file delays one turn, for at most FILE_SERVER_WAIT seconds; its tools are offered later.
        """
        connecting = {task: self._links[name] for name, task in self._connecting.items() if name in self._links}
        chosen = {task for task, link in connecting.items() if link.scope == "dynamic" or link.config.kind == "sdk"}
        if others := connecting.keys() - chosen - self._late:
            _, late = await asyncio.wait(others, timeout=min(limit, FILE_SERVER_WAIT))
            self._late |= late
        if chosen:
            await asyncio.wait(chosen, timeout=limit)
        await asyncio.gather(*(link.lists_read() for link in self._links.values()))

    def retry_refused(self) -> bool:
        """Connect again to servers of the host that answered with an error. Returns whether there are any.

        The CLI does so before each turn, as a host may need time to set its servers up.
        """
        refused = [link.name for link in self._links.values() if link.config.kind == "sdk" and link.was_refused]
        for name in refused:
            self._connect(name)
        return bool(refused)

    async def close(self) -> None:
        """Close all servers and wait for their processes to exit."""
        for name in [*self._links]:
            self._forget(name)
        while tasks := [*self._connecting.values()]:
            await asyncio.wait(tasks)

    # Status

    def names(self) -> list[str]:
        """The names of all servers."""
        return list(self._links)

    def servers(self) -> list[JsonObject]:
        """For `system/init`: name, status and source of each."""
        held = ({key: entry[key] for key in ("name", "status", "source")} for entry in self._held.values())
        linked = ({"name": x.name, "status": x.status, "source": x.source} for x in self._links.values())
        return [*linked, *held]

    def errors(self) -> list[JsonObject]:
        """For `system/init`: servers and tools that were left out, with the reasons."""
        tools = [
            {"name": link.name, "type": "tool_left_out", "message": text}
            for link in self._links.values()
            for text in link.left_out
        ]
        unset = [
            {"name": link.name, "type": "missing_variable", "message": f"the variable {name} is not set"}
            for link in self._links.values()
            for name in link.config.unset
        ]
        return [*self._errors.values(), *unset, *tools]

    def status(self) -> list[JsonObject]:
        """For `mcp_status`: the full status of each server."""
        held = [{**entry, "error": "waiting for the user's approval", "signIn": False} for entry in self._held.values()]
        return [*map(_status_of, self._links.values()), *held]

    # Tools, resources, prompts

    def tools(self) -> list[Tool[Any]]:
        """The tools of all connected servers, and the resource tools if any server has resources."""
        found: list[Tool[Any]] = []
        for link in self._links.values():
            for entry in link.tools if link.status == "connected" else ():
                found.append(mcp_tool(link, entry, limit=self._call_limit, pins=self._pins))
        if any("resources" in link.capabilities for link in self._links.values()):
            found += (ListMcpResources(self), ReadMcpResource(self))
        return found

    async def call(self, tool: str, arguments: JsonObject, *, call_id: str = "") -> JsonObject:
        """Call a tool by its full name and return the server's result. Raises McpError."""
        key, _, _ = tool.removeprefix("mcp__").partition("__")
        link = next((link for link in self._links.values() if link.key == key and link.status == "connected"), None)
        if link is None or not tool.startswith("mcp__"):
            raise McpError(f"MCP server not connected: {clean(key, 80)}")
        entry = next((entry for entry in link.tools if entry.full_name == tool), None)
        if entry is None:
            raise McpError(f"MCP tool not found: {clean(tool, 160)}")
        return await link.call(entry.name, arguments, call_id=call_id, limit=self._call_limit)

    def is_of_host(self, tool: str) -> bool:
        """Whether a tool belongs to a server that the host runs."""
        key = tool.removeprefix("mcp__").partition("__")[0]
        return any(link.key == key and link.config.kind == "sdk" for link in self._links.values())

    async def list_resources(self, server: str | None = None) -> tuple[list[JsonObject], dict[str, str]]:
        """The resources of one server or of all connected ones, each with its `server`, and the errors by server."""
        links = [self._named(server)] if server else [*self._links.values()]
        asked = [link for link in links if link.status == "connected" and "resources" in link.capabilities]
        listed = await asyncio.gather(*map(self._resources_of, asked), return_exceptions=True)
        found: list[JsonObject] = []
        errors: dict[str, str] = {}
        for link, entries in zip(asked, listed, strict=True):
            if isinstance(entries, McpError):
                errors[link.name] = str(entries)
            elif isinstance(entries, BaseException):
                raise entries
            else:
                found += entries
        return found[:MOST_RESOURCES], errors

    async def _resources_of(self, link: ServerLink) -> list[JsonObject]:
        entries = await link.pages("resources/list", "resources", most=MOST_RESOURCES, limit=self._connect_limit)
        return [
            {**{key: text for key in _RESOURCE_TEXTS if (text := clean(entry.get(key), 2000))}, "server": link.name}
            for entry in entries
            if isinstance(entry.get("uri"), str) and entry["uri"] == clean(entry["uri"], 2000)
        ]

    async def read_resource(self, server: str, uri: str) -> list[JsonObject]:
        """The contents of a resource, read from its own server."""
        answer = await self._named(server).request("resources/read", {"uri": uri}, limit=self._connect_limit)
        contents = answer.get("contents")
        if not isinstance(contents, list):
            raise McpError(f"{clean(server, 80)} gave no contents for {clean(uri, 200)}")
        return [cast("JsonObject", part) for part in cast("list[Any]", contents) if isinstance(part, dict)]

    def prompts(self) -> list[JsonObject]:
        """The prompts of all servers as slash commands: name, description, arguments, required arguments."""
        return [
            {
                "name": f"mcp__{link.key}__{server_key(str(prompt.get('name', '')))}",
                "description": clean(prompt.get("description")),
                "arguments": [clean(one.get("name"), 80) for one in _objects(prompt.get("arguments"))],
                "required": [
                    clean(one.get("name"), 80)
                    for one in _objects(prompt.get("arguments"))
                    if one.get("required") is True
                ],
            }
            for link in self._links.values()
            for prompt in link.prompts
        ]

    async def prompt(self, name: str, words: list[str]) -> list[JsonObject]:
        """The messages of a prompt, by its full name and its arguments in order. Raises McpError."""
        for link in self._links.values():
            for prompt in link.prompts:
                if name == f"mcp__{link.key}__{server_key(str(prompt.get('name', '')))}":
                    names = [str(one.get("name")) for one in _objects(prompt.get("arguments"))]
                    given = {"name": prompt.get("name"), "arguments": dict(zip(names, words, strict=False))}
                    answer = await link.request("prompts/get", given, limit=self._connect_limit)
                    return _objects(answer.get("messages"))
        raise McpError(f"MCP prompt not found: {clean(name, 160)}")

    def instructions(self) -> list[JsonObject]:
        """The instructions of connected servers, as a block of the system prompt; empty if no server has any."""
        found = [link for link in self._links.values() if link.is_connected and link.instructions]
        if not found:
            return []
        texts = [f"## {clean(link.name, 80)}\n\n{link.instructions}" for link in found]
        head = "# Instructions of MCP servers\n\nThe servers wrote these texts about how to use their tools."
        return [{"type": "text", "text": "\n\n".join([head, *texts])}]

    # Changes by the host

    async def set_servers(self, servers: Mapping[str, Any]) -> JsonObject:
        """Replace the servers of the command line and of the host; those of files stay."""
        dynamic = {name: link for name, link in self._links.items() if link.scope == "dynamic"}
        kept = {name for name in dynamic if name in servers and self._same(dynamic[name], servers[name])}
        removed = [name for name in dynamic if name not in kept]
        for name in removed:
            self._forget(name)
        for name in servers:
            self._errors.pop(name, None)
        wanted = {name: entry for name, entry in servers.items() if name not in kept}
        added = self.configure(wanted, scope="dynamic")
        errors = {name: self._errors[name]["message"] for name in wanted if name in self._errors}
        return {"added": added, "removed": removed, "errors": errors}

    def _same(self, link: ServerLink, entry: Any) -> bool:
        try:
            return read_config(entry, self._environment) == link.config
        except ConfigError:
            return False

    async def reconnect(self, name: str) -> None:
        """Reconnect. Raises McpError if that fails, the server is unknown, or the host runs it, as in the CLI."""
        link = self._named(name)
        if link.config.kind == "sdk":
            raise McpError(f"{name} runs in the host; disable and enable it to connect it again")
        await asyncio.shield(self._connect(link.name))
        if link.status != "connected":
            raise McpError(link.error or f"{name}: {link.status}")

    async def toggle(self, name: str, *, enabled: bool) -> None:
        """Disable or enable a server."""
        link = self._named(name)
        if enabled:
            await asyncio.shield(self._connect(link.name))
            return
        if sign_in := self._sign_ins.pop(link.name, None):
            await sign_in.cancel()
        if connecting := self._connecting.pop(link.name, None):
            connecting.cancel()
            await asyncio.wait([connecting])
        await link.close()

    # Sign-in

    async def sign_in(self, name: str, *, redirect_uri: str = "", only: bool = False) -> BegunSignIn:
        """Begin to sign in to a server; an earlier attempt is cancelled. Raises McpError.

        With `redirect_uri` the browser is redirected there, and the host passes its address to `finish_sign_in`. If
        the authorization server refuses that address, the listener on loopback is used, unless `only` is set.
        """
        link = self._named(name)
        if link.config.kind in ("stdio", "sdk"):
            raise McpError(f'Server type "{link.config.kind}" does not support OAuth authentication')
        if not link.config.signs_in:
            raise McpError(f"{clean(name, 80)} has an Authorization header in its configuration; remove it to sign in")
        if others := link.config.oauth.unsupported:
            raise McpError(f"the option oauth.{others[0]} of {clean(name, 80)} is not supported by handrail-agent")
        await _load_oauth()
        from handrail.agent.mcp.oauth import RegistrationRefused

        if earlier := self._sign_ins.pop(link.name, None):
            await earlier.cancel()
        try:
            return await self._begin(link, redirect_uri)
        except RegistrationRefused:
            if not redirect_uri or only:
                raise
            return await self._begin(link, "")

    async def _begin(self, link: ServerLink, redirect_uri: str) -> BegunSignIn:
        from handrail.agent.mcp.credentials import CredentialStore
        from handrail.agent.mcp.oauth import SignIn

        store = CredentialStore(self._config_home, link.name, link.config.url)
        sign_in = SignIn(
            link.name,
            link.config,
            store,
            connect=lambda: self.reconnect(link.name),
            failed=link.sign_in_failed,
            redirect_uri=redirect_uri,
        )
        self._sign_ins[link.name] = sign_in
        return BegunSignIn(await sign_in.begin(), sign_in.state, sign_in.port)

    async def finish_sign_in(self, name: str, address: str) -> None:
        """Finish a sign-in with the address to which the browser was redirected, and connect. Raises McpError."""
        link = self._links.get(name) or next((one for one in self._links.values() if one.key == name), None)
        sign_in = self._sign_ins.get(link.name) if link is not None else None
        if sign_in is None or not sign_in.is_pending:
            raise McpError(f"No active OAuth flow for server: {clean(name, 80)}")
        sign_in.redirected(address)
        await sign_in.finished()

    async def sign_out(self, name: str) -> None:
        """Delete the tokens of a server and disconnect it. Raises McpError."""
        link = self._named(name)
        if link.config.kind in ("stdio", "sdk"):
            raise McpError(f'Server type "{link.config.kind}" does not support OAuth authentication')
        await _load_oauth()
        from handrail.agent.mcp.credentials import CredentialStore

        if sign_in := self._sign_ins.pop(link.name, None):
            await sign_in.cancel()
        if CredentialStore(self._config_home, link.name, link.config.url).forget() and link.status != "disabled":
            await asyncio.shield(self._connect(link.name))

    def receive(self, server: str, message: JsonObject) -> None:
        """Deliver a message that a server of the host sent. Raises McpError."""
        link = self._named(server)
        if link.config.kind != "sdk":
            raise McpError(f"{clean(server, 80)} does not run in the host")
        link.receive(message)

    def _named(self, name: str) -> ServerLink:
        link = self._links.get(name) or next((link for link in self._links.values() if link.key == name), None)
        if link is None:
            raise McpError(f"Server not found: {clean(name, 80)}")
        return link


async def _load_oauth() -> None:
    """Import the `mcp` package in a thread, because that takes longer than the session may stall."""
    try:
        await asyncio.to_thread(importlib.import_module, "handrail.agent.mcp.oauth")
    except ImportError:
        raise McpError("signing in needs version 2 of the `mcp` package: pip install 'mcp>=2'") from None


def _status_of(link: ServerLink) -> JsonObject:
    optional: JsonObject = {
        "serverInfo": link.info or None,
        "config": link.config.shown(),
        "error": link.error or None,
    }
    known = {key: value for key, value in optional.items() if value is not None}
    where = {"transport": link.config.kind, "scope": link.scope, "source": link.source}
    tools = [
        {
            "name": entry.name,
            **({"description": entry.description} if entry.description else {}),
            "annotations": {
                short: entry.annotations[hint] for hint, short in _HINTS.items() if hint in entry.annotations
            },
        }
        for entry in link.tools
    ]
    listed = {"tools": tools} if link.status == "connected" else {}
    return {"name": link.name, "status": link.status, **known, **where, "signIn": link.config.signs_in, **listed}


def _objects(value: Any) -> list[JsonObject]:
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]


def _seconds(milliseconds: str | None, otherwise: float) -> float:
    text = milliseconds or ""
    return max(int(text), 1) / 1000 if text.isascii() and text.isdecimal() and 0 < len(text) < 12 else otherwise
