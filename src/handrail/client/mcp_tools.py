"""Tools made from typed functions, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast, get_args, overload

from handrail.client.mcp_arguments import BadArguments, JsonObject, read_signature
from handrail.client.mcp_results import describe_error, failure, result_of

P = ParamSpec("P")
R = TypeVar("R")
Notify = Callable[[str, JsonObject], Awaitable[None]]
LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: tuple[str, ...] = get_args(LogLevel)

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_log = logging.getLogger("handrail.mcp")


class ToolContext:
    """The context of a running call: reports progress and logs. A parameter annotated `ToolContext` receives it.

    `cancelled` is set when the call is cancelled or times out. An async tool is cancelled as well; a sync tool runs in
    a thread and has to check `cancelled.is_set()` itself.
    """

    def __init__(
        self, *, server: str, request_id: int | str, meta: Mapping[str, Any], notify: Notify, log_from: LogLevel
    ) -> None:
        tool_use_id = meta.get("claudecode/toolUseId")
        self.server = server
        self.request_id = request_id
        self.meta = meta
        self.tool_use_id: str | None = tool_use_id if isinstance(tool_use_id, str) else None
        self.cancelled = asyncio.Event()
        self._notify = notify
        self._log_from = log_from

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress. Ignored if the caller did not ask for progress or no longer waits."""
        token = self.meta.get("progressToken")
        if token is None or self.cancelled.is_set():
            return
        optional = {"total": total, "message": message}
        given = {key: value for key, value in optional.items() if value is not None}
        await self._notify("notifications/progress", {"progressToken": token, "progress": done, **given})

    async def log(self, level: LogLevel, text: str) -> None:
        """Send a line to the caller's log. Lines below the level set by the caller are dropped."""
        if level not in LOG_LEVELS:
            raise ValueError(f"unknown log level {level!r}; use one of {', '.join(LOG_LEVELS)}")
        if LOG_LEVELS.index(level) >= LOG_LEVELS.index(self._log_from) and not self.cancelled.is_set():
            await self._notify("notifications/message", {"level": level, "logger": self.server, "data": text})


class Tool(Generic[P, R]):
    """A function that a model can call. It can still be called as a function."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        annotations: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = getattr(function, "__name__", "") if name is None else name
        if not _TOOL_NAME.fullmatch(self.name):
            raise ValueError(f"tool name {self.name!r}: use 1 to 64 letters, digits, '_' or '-'; pass name=")
        if timeout is not None and timeout <= 0:
            raise ValueError(f"tool {self.name!r}: timeout must be more than 0 seconds; leave it out for no limit")
        self.description = (inspect.getdoc(function) or "") if description is None else description
        self.timeout = timeout
        self.annotations: JsonObject = {key: note for key, note in (annotations or {}).items() if note is not None}
        self.meta = dict(meta or {})
        self.function = function
        self._is_async = inspect.iscoroutinefunction(function)
        self._arguments, self._context_parameter = read_signature(
            function, owner=self.name, context_type=ToolContext, input_schema=input_schema
        )
        self.__doc__ = self.description

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def input_schema(self) -> JsonObject:
        return self._arguments.schema

    def describe(self) -> JsonObject:
        """The entry in tools/list."""
        entry: JsonObject = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        if "title" in self.annotations:
            entry["title"] = self.annotations["title"]
        if self.annotations:
            entry["annotations"] = self.annotations
        if self.meta:
            entry["_meta"] = self.meta
        return entry

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> JsonObject:
        """Run the function and return the result of a tools/call. Errors become error results, not exceptions."""
        try:
            keywords = self._arguments.check(arguments)
        except BadArguments as error:
            return failure(f"Invalid arguments for tool `{self.name}`: {error}")
        if self._context_parameter is not None:
            keywords[self._context_parameter] = context
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return result_of(await self._run(keywords))
        # SystemExit too: a command-line function used as a tool must not end the program that hosts it.
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit.expired():
                context.cancelled.set()
                return failure(f"Tool `{self.name}` was stopped: it took longer than {self.timeout:g} s")
            _log.debug("tool %s failed", self.name, exc_info=error)
            return failure(describe_error(error))

    async def _run(self, keywords: JsonObject) -> object:
        function = cast("Callable[..., Any]", self.function)
        if self._is_async:
            return await function(**keywords)
        # In a thread, so that a slow function does not block the conversation.
        value = await asyncio.to_thread(function, **keywords)
        return await value if inspect.isawaitable(value) else value


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    input_schema: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    input_schema: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Any:
    """Make a tool from a function; its name, docstring and parameter types describe the tool.

    With `input_schema` the function takes one dict instead. `timeout` is in seconds. The hints (`read_only` and others)
    describe the tool to the agent; read-only tools may run concurrently.
    """
    annotations = {
        "title": title,
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }

    def make(function: Callable[..., Any]) -> Tool[..., Any]:
        return Tool(
            function,
            name=name,
            description=description,
            input_schema=input_schema,
            timeout=timeout,
            annotations=annotations,
            meta=meta,
        )

    return make if function is None else make(function)
