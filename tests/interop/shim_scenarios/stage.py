"""What the scenarios share: folders, options, replies of the model, and a record of what the caller saw.

A scenario receives the SDK as a module, so the same function runs with `claude_agent_sdk` and with
`handrail.claude_agent_sdk`. This package imports neither: it runs in an environment that may have only one of them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

Sdk = Any
"""The module under test."""
Body = Callable[[Sdk, "Stage"], Awaitable[None]]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Scenario(NamedTuple):
    """A scenario, the replies of its model, and the event loops it runs on."""

    body: Body
    script: dict[str, Any]
    loops: tuple[str, ...]


SCENARIOS: dict[str, Scenario] = {}


def scenario(*replies: Any, afterwards: str = "Nothing more.", trio: bool = False) -> Callable[[Body], Body]:
    """Register a scenario. A reply is text, a content block, a list of blocks, or a whole reply."""

    def register(body: Body) -> Body:
        script = {"replies": [as_reply(one) for one in replies], "afterwards": as_reply(afterwards)}
        SCENARIOS[body.__name__] = Scenario(body, script, ("asyncio", "trio") if trio else ("asyncio",))
        return body

    return register


def as_reply(given: Any) -> dict[str, Any]:
    if isinstance(given, dict) and "type" not in given:
        return given
    return {"blocks": [text(one) if isinstance(one, str) else one for one in _listed(given)]}


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def calls(tool: str, **tool_input: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "name": tool, "input": tool_input}


def when(reply: Any, **condition: Any) -> dict[str, Any]:
    """A reply to the requests that match a condition of the script format."""
    return {**as_reply(reply), "when": condition}


def fails(status: int, message: str, times: int = 20) -> dict[str, Any]:
    return {"error": {"status": status, "message": message}, "times": times}


TOUCH = calls("Bash", command="touch made.txt; echo it is made")


class Stage:
    """The folders of one run of a scenario, and the record of what its caller saw."""

    def __init__(self, sdk: Sdk, environment: dict[str, str]) -> None:
        os.environ.clear()
        os.environ.update(environment)
        self.sdk = sdk
        self.cli = environment["STAGE_CLI"]
        self.project, self.outside = Path(environment["STAGE_PROJECT"]), Path(environment["STAGE_OUTSIDE"])
        self.seen: list[Any] = []
        self.called: list[Any] = []

    def see(self, value: Any, name: str = "") -> Any:
        """Record a value that the caller received. Returns it."""
        self.seen.append({name: plain(value)} if name else plain(value))
        return value

    def note(self, name: str, *values: Any) -> None:
        """Record the call of a callback. Its order among the messages may differ from run to run."""
        self.called.append([name, *map(plain, values)])

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Record the error that the block raises: the names of its classes, and its fields; not its text."""
        try:
            yield
        except Exception as error:
            names = ("exit_code", "subtype", "errors", "result", "api_error_status", "terminal_reason", "line")
            fields = {name: plain(getattr(error, name)) for name in names if hasattr(error, name)}
            classes = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, Exception)]
            self.seen.append({"raised": classes, **fields})
        else:
            self.seen.append({"raised": []})

    def options(self, **given: Any) -> Any:
        return self.sdk.ClaudeAgentOptions(**{"cli_path": self.cli, "cwd": self.project} | given)

    def client(self, **given: Any) -> Any:
        return self.sdk.ClaudeSDKClient(self.options(**given))

    async def collect(self, messages: AsyncIterable[Any]) -> list[Any]:
        """Record every message."""
        return [self.see(message) async for message in messages]

    async def query(self, prompt: Any, **given: Any) -> list[Any]:
        """`query()` to its end."""
        return await self.collect(self.sdk.query(prompt=prompt, options=self.options(**given)))

    async def turn(self, client: Any, prompt: Any) -> list[Any]:
        """A prompt, and the messages up to its result."""
        await client.query(prompt)
        return await self.collect(client.receive_response())

    async def ask(self, prompt: Any, **given: Any) -> list[Any]:
        """A client with one turn."""
        async with self.client(**given) as client:
            return await self.turn(client, prompt)

    def put(self, path: str | Path, content: str) -> Path:
        """Write a file of the project, or at an absolute path."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file


def plain(value: Any) -> Any:
    """A value as JSON data; a dataclass becomes its fields and the name of its class."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"class": type(value).__name__, **fields}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value) if isinstance(value, Path) else {"class": type(value).__name__}


def user(content: Any) -> dict[str, Any]:
    """A user line, as a caller writes it."""
    return {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}


async def lines(*given: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    for line in given:
        yield line


def first(sdk: Sdk, kind: str, messages: list[Any]) -> Any:
    """The first message of a class, by its name."""
    return next(message for message in messages if isinstance(message, getattr(sdk, kind)))


def answering(stage: Stage, answer: Callable[[dict[str, Any], Any], Any]) -> Any:
    """A permission callback that records its calls. `answer` receives the input and the context."""

    async def can_use_tool(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        stage.note("can_use_tool", name, tool_input, context)
        return answer(tool_input, context)

    return can_use_tool


def allowing(stage: Stage) -> Any:
    """A permission callback that allows everything."""
    return answering(stage, lambda *_: stage.sdk.PermissionResultAllow())
