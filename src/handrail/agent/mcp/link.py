"""The connection to one MCP server: its status, tools, prompts and requests.

A server connects in the background and within a limit. A failure is reported by `status` and `error`, not raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Literal, cast

import msgspec

from handrail.agent.errors import McpError
from handrail.agent.mcp.config import ServerConfig, https_address
from handrail.agent.mcp.content import clean, clean_schema, shortened, tool_key
from handrail.agent.mcp.rpc import PROTOCOL, Channel, McpTimeout, MethodMissing, NeedsAuth, RpcClient

__all__ = ["ServerLink", "Status", "ToolEntry"]

JsonObject = dict[str, Any]
Status = Literal["pending", "connected", "failed", "needs-auth", "disabled"]
Elicit = Callable[[JsonObject], Awaitable[JsonObject]]

MOST_TOOLS: Final = 512
MOST_PROMPTS: Final = 100
MOST_PAGES: Final = 64
LARGEST_SCHEMA: Final = 256 * 1024
LONGEST_INSTRUCTIONS: Final = 2048
LISTING_LIMIT: Final = 5.0
ATTEMPTS: Final = 2
"""Connection attempts for a server of the host, which may be busy starting during the first."""
LIST_DELAYS: Final = (0.25, 0.5, 1.0)
"""Seconds before each retry of the first `tools/list`, as in the CLI."""
_PROTOCOLS: Final = frozenset({PROTOCOL, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"})
"""The protocol versions that a server may choose."""
TOOLS_CHANGED: Final = "notifications/tools/list_changed"
PROMPTS_CHANGED: Final = "notifications/prompts/list_changed"
RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
_LISTS: Final = {TOOLS_CHANGED: "tools", PROMPTS_CHANGED: "prompts", RESOURCES_CHANGED: "resources"}
"""Notifications about lists, and the capability of each list. Resources are listed on request and not kept."""


class ToolEntry(msgspec.Struct, frozen=True):
    """A tool of a server, with texts cleaned. `fingerprint` changes with everything shown to the model or the user."""

    name: str
    full_name: str
    description: str
    schema: JsonObject
    annotations: JsonObject
    title: str
    fingerprint: str


class ServerLink:
    """One server. `source` is `sdk` for servers of the host, else the scope of the file."""

    def __init__(
        self,
        name: str,
        key: str,
        config: ServerConfig,
        *,
        scope: str,
        channel: Callable[[], Channel],
        elicit: Elicit,
        cwd: str,
        connect_limit: float,
        version: str = "0",
        on_prompts: Callable[[], None] = lambda: None,
    ) -> None:
        self.name, self.key, self.config, self.scope = name, key, config, scope
        self.source = "sdk" if config.kind == "sdk" else scope
        self.status: Status = "pending"
        self.error = self.instructions = ""
        self.info: JsonObject = {}
        self.capabilities: JsonObject = {}
        self.tools: list[ToolEntry] = []
        self.prompts: list[JsonObject] = []
        self.left_out: list[str] = []
        self._channel, self._elicit, self._cwd = channel, elicit, cwd
        self._limit, self._version = connect_limit, version
        self._rpc: RpcClient | None = None
        self._busy = asyncio.Lock()
        self._on_prompts = on_prompts
        self.was_refused = False
        """Whether the last attempt failed with an error, after which a retry does not take long."""
        self._is_gone = False
        """Whether the server has exited since it was connected. The next request starts it again."""
        self._reviving = asyncio.Lock()
        self._changed: set[str] = set()
        self._listing: asyncio.Task[None] | None = None
        """The task that reads changed lists again."""

    async def connect(self) -> None:
        """Connect or reconnect. Never raises: the outcome is in `status` and `error`."""
        async with self._busy:
            await self._let_go()
            self.status, self.error = "pending", ""
            self.was_refused = self._is_gone = False
            try:
                for _ in range(ATTEMPTS if self.config.kind == "sdk" else 1):
                    if not await self._timed_out():
                        break
                    await self._let_go()
            finally:
                if not self.is_connected:
                    await self._let_go()

    @property
    def is_connected(self) -> bool:
        """Whether its tools can be called."""
        return self.status == "connected"

    async def _timed_out(self) -> bool:
        """Make one attempt. Returns whether it timed out, so that a retry may succeed."""
        try:
            async with asyncio.timeout(self._limit):
                await self._shake_hands()
        except (TimeoutError, McpTimeout):
            self._failed(f"it was not ready within {self._limit:g} seconds")
            return True
        except NeedsAuth as error:
            offered = await self._offers_sign_in()
            if offered and self.config.signs_in:
                self.needs_auth(str(error))
            elif self.config.signs_in:
                self._failed("the server answered HTTP 401 and offers no sign-in; put a token in its `headers`")
            else:
                way_out = "; remove it to sign in" if offered else ""
                self._failed(f"the server rejected the Authorization header of its configuration (HTTP 401){way_out}")
        except (McpError, OSError) as error:
            self._failed(str(error))
            self.was_refused = True
        return False

    async def _offers_sign_in(self) -> bool:
        from handrail.agent.mcp.http_channel import HttpChannel

        channel = self._rpc.channel if self._rpc is not None else None
        return isinstance(channel, HttpChannel) and await channel.offers_sign_in()

    async def close(self, status: Status = "disabled") -> None:
        """Close the connection and the server's process."""
        async with self._busy:
            await self._let_go()
            self.status, self.error = status, ""

    async def call(self, tool: str, arguments: JsonObject, *, call_id: str, limit: float) -> JsonObject:
        """Call a tool and return the server's result. Raises McpError."""
        given: JsonObject = {"name": tool, "arguments": arguments}
        if call_id:
            given["_meta"] = {"claudecode/toolUseId": call_id}
        result = await self.request("tools/call", given, limit=limit)
        await self.lists_read()  # a call may add tools, which the model can use in its next answer
        return result

    async def lists_read(self) -> None:
        """Wait for lists that are being read again, but not for a server that keeps changing them."""
        if self._listing is not None:
            await asyncio.wait([self._listing], timeout=LISTING_LIMIT)

    async def request(self, method: str, params: JsonObject | None = None, *, limit: float) -> JsonObject:
        """Send a request and return its result. A server that has exited is started again. Raises McpError."""
        async with self._reviving:
            if self._is_gone:
                await self.connect()
        if self._rpc is None or self.status != "connected":
            raise McpError(f"MCP server not connected: {self.name}{f' ({self.error})' if self.error else ''}")
        try:
            return await self._rpc.request(method, params, limit=limit)
        except NeedsAuth as error:
            if self.config.signs_in:
                self.needs_auth(str(error))
            raise

    def needs_auth(self, reason: str) -> None:
        """Require a sign-in. The server offers nothing until it is connected again."""
        self.status, self.error = "needs-auth", shortened(clean(reason, 1000), 1000)
        self.tools = []
        self._set_prompts([])

    def sign_in_failed(self, reason: str) -> None:
        """Report a sign-in that failed while the host was not waiting for it."""
        if self.status == "needs-auth":
            self.error = shortened(clean(reason, 1000), 1000)

    async def pages(self, method: str, field: str, *, most: int, limit: float) -> list[JsonObject]:
        """All pages of a list, up to `most` entries. A repeated cursor ends the list."""
        found: list[JsonObject] = []
        params: JsonObject | None = None
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            if self._rpc is None:  # it was disconnected between two pages
                raise McpError(f"MCP server not connected: {self.name}")
            page = await self._rpc.request(method, params, limit=limit)
            entries = page.get(field)
            if not isinstance(entries, list):
                raise McpError(f"{method} was answered without a list of {field}")
            found += [cast("JsonObject", entry) for entry in cast("list[Any]", entries) if isinstance(entry, dict)]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen or len(found) > most:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        return found

    def receive(self, message: JsonObject) -> None:
        """Deliver a message that a server of the host sent. Raises McpError if it is not connected."""
        if self._rpc is None:
            raise McpError(f"MCP server not connected: {self.name}")
        self._rpc.receive(message)

    async def _shake_hands(self) -> None:
        rpc = self._rpc = RpcClient(self._channel(), self._answer, self._noticed, self._lost)
        await rpc.open()
        able: JsonObject = {} if self.config.kind == "sdk" else {"roots": {}, "elicitation": {}}
        who = {"name": "handrail-agent", "title": "Handrail", "version": self._version}
        given = {"protocolVersion": PROTOCOL, "capabilities": able, "clientInfo": who}
        answer = await rpc.request("initialize", given, limit=self._limit)
        self.info, self.capabilities = _read_handshake(answer)
        self.instructions = clean(answer.get("instructions"), LONGEST_INSTRUCTIONS)
        await rpc.notify("notifications/initialized")
        await self._list_first_tools(rpc)
        prompts = await self._list_prompts()
        self.status, self.error = "connected", ""
        self._set_prompts(prompts)
        self._read_changed_lists()  # a list may have changed after it was read

    async def _list_first_tools(self, rpc: RpcClient) -> None:
        """List the tools, with retries. A server that cannot list them stays connected, as in the CLI."""
        for delay in (*LIST_DELAYS, None):
            try:
                return await self._list_tools()
            except (McpTimeout, NeedsAuth):
                raise
            except McpError as error:
                if delay is None or rpc.is_closed or isinstance(error, MethodMissing):
                    self.left_out = [f"the tools were left out: {clean(str(error), 200)}"]
                    return None
            await asyncio.sleep(delay)

    async def _list_tools(self) -> None:
        if "tools" not in self.capabilities:
            self.tools = []
            return
        listed = await self.pages("tools/list", "tools", most=MOST_TOOLS, limit=self._limit)
        self.tools, self.left_out = read_tools(self.key, listed)

    async def _list_prompts(self) -> list[JsonObject]:
        """The prompts; empty if listing fails, because the server's tools still work."""
        if "prompts" not in self.capabilities:
            return []
        try:
            return (await self.pages("prompts/list", "prompts", most=MOST_PROMPTS, limit=self._limit))[:MOST_PROMPTS]
        except McpError as error:
            self.left_out.append(f"the prompts were left out: {clean(str(error), 200)}")
            return []

    def _set_prompts(self, prompts: list[JsonObject]) -> None:
        changed, self.prompts = prompts != self.prompts, prompts
        if changed:
            self._on_prompts()

    async def _let_go(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
        rpc, self._rpc, self._listing = self._rpc, None, None
        self.tools, self.capabilities, self.info, self.instructions = [], {}, {}, ""
        self._changed.clear()
        self._set_prompts([])
        if rpc is not None:
            await rpc.close()

    def _failed(self, reason: str) -> None:
        self.status, self.error = "failed", shortened(clean(reason, 1000), 1000)

    def _lost(self, reason: str) -> None:
        if self.status == "connected":
            self._is_gone, self.error = True, shortened(clean(reason, 1000), 1000)

    def _noticed(self, method: str) -> None:
        if method in _LISTS and self._rpc is not None:
            # A server may offer its first tool or prompt after the handshake.
            self.capabilities.setdefault(_LISTS[method], {})
            self._changed.add(method)
            self._read_changed_lists()

    def _read_changed_lists(self) -> None:
        if self._changed and self._listing is None and self.is_connected:
            self._listing = asyncio.create_task(self._list_again())

    async def _list_again(self) -> None:
        try:
            while self._changed:  # a list may change again while it is read
                with suppress(McpError):  # the old list then stays in use
                    await self._read_list(self._changed.pop())
        finally:
            if self._listing is asyncio.current_task():
                self._listing = None

    async def _read_list(self, method: str) -> None:
        if method == TOOLS_CHANGED:
            await self._list_tools()
        elif method == PROMPTS_CHANGED:
            self._set_prompts(await self._list_prompts())

    async def _answer(self, method: str, params: JsonObject) -> JsonObject:
        if method == "ping":
            return {}
        if method == "roots/list":
            from pathlib import Path

            return {"roots": [{"uri": Path(self._cwd).as_uri(), "name": "project"}]}
        if method == "elicitation/create":
            return await self._elicited(params)
        raise NotImplementedError(method)

    async def _elicited(self, params: JsonObject) -> JsonObject:
        """Ask the user. A page to visit needs an https address; an invalid answer cancels."""
        asked: JsonObject = {"mcp_server_name": self.name, "message": clean(params.get("message"), 4000)}
        if params.get("mode") == "url":
            address = https_address(params.get("url"))
            if not address:
                return {"action": "decline"}
            asked |= {"mode": "url", "url": address, "elicitation_id": clean(params.get("elicitationId"), 200)}
        else:
            schema = clean_schema(params.get("requestedSchema"))
            properties = schema.get("properties")
            order = [*cast("JsonObject", properties)] if isinstance(properties, dict) else []
            asked |= {"mode": "form", "requested_schema": schema, "property_order": order}
        answer = await self._elicit(asked)
        action = answer.get("action")
        if action not in ("accept", "decline", "cancel"):
            return {"action": "cancel"}
        content = answer.get("content")
        return {"action": action, **({"content": content} if action == "accept" and content is not None else {})}


def _read_handshake(answer: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The name and version of a server, and its capabilities. Raises McpError for an answer that the CLI refuses."""
    version, capabilities = answer.get("protocolVersion"), answer.get("capabilities")
    if version not in _PROTOCOLS:
        raise McpError(f"the server chose the unsupported protocol version {str(version)[:40]!r}")
    info = _texts(answer.get("serverInfo"))
    if not isinstance(capabilities, dict) or not {"name", "version"} <= info.keys():
        raise McpError("the answer to initialize needs `capabilities`, and `serverInfo` with `name` and `version`")
    return info, cast("JsonObject", capabilities)


def read_tools(key: str, listed: list[JsonObject]) -> tuple[list[ToolEntry], list[str]]:
    """The usable tools of a list, and the reasons for those left out. The first of two with one name is used."""
    found: dict[str, ToolEntry] = {}
    left_out: list[str] = []
    for entry in listed[:MOST_TOOLS]:
        try:
            tool = _read_tool(key, entry)
        except ValueError as error:
            left_out.append(f"the tool {clean(entry.get('name'), 80)!r} was left out: {error}")
            continue
        if tool.full_name in found:
            left_out.append(
                f"the tool {clean(tool.name, 80)!r} was left out: another is named {tool.full_name} already"
            )
        else:
            found[tool.full_name] = tool
    if len(listed) > MOST_TOOLS:
        left_out.append(f"{len(listed) - MOST_TOOLS} or more tools were left out: {MOST_TOOLS} is the most")
    return [*found.values()], left_out[:20]


def _read_tool(key: str, entry: JsonObject) -> ToolEntry:
    name = entry.get("name")
    full_name = tool_key(key, name)
    if not full_name:
        raise ValueError("its name must have 1 to 64 characters")
    from hashlib import sha256

    schema = clean_schema(entry.get("inputSchema", {}))
    raw = entry.get("annotations")
    annotations = cast("JsonObject", raw) if isinstance(raw, dict) else {}
    offered = msgspec.json.encode([entry.get("description"), entry.get("inputSchema"), annotations], order="sorted")
    if len(msgspec.json.encode(schema)) > LARGEST_SCHEMA:
        raise ValueError(f"its input schema is longer than {LARGEST_SCHEMA} bytes")
    title = clean(annotations.get("title") or entry.get("title"), 80)
    return ToolEntry(
        name=str(name),
        full_name=full_name,
        description=clean(entry.get("description")),
        schema=schema,
        annotations={hint: value for hint, value in annotations.items() if isinstance(value, bool)},
        title=title,
        fingerprint=sha256(offered).hexdigest(),
    )


def _texts(value: Any) -> JsonObject:
    entries = cast("JsonObject", value) if isinstance(value, dict) else {}
    return {key: clean(entries[key], 200) for key in ("name", "version", "title") if isinstance(entries.get(key), str)}
