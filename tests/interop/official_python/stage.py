"""Common parts of the scenarios: folders, options, turns and assertions."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

Scenario = Callable[["Stage"], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(body: Scenario) -> Scenario:
    """Register a scenario under the name of its function, without a trailing underscore."""
    SCENARIOS[body.__name__.rstrip("_")] = body
    return body


class Said(list[Any]):
    """The messages of a turn."""

    def of(self, kind: type) -> list[Any]:
        return [message for message in self if isinstance(message, kind)]

    @property
    def result(self) -> ResultMessage:
        (result,) = self.of(ResultMessage)
        return result

    @property
    def init(self) -> dict[str, Any]:
        return next(message.data for message in self.of(SystemMessage) if message.subtype == "init")

    @property
    def text(self) -> str:
        blocks = [block for message in self.of(AssistantMessage) for block in message.content]
        return "".join(block.text for block in blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> list[ToolUseBlock]:
        blocks = [block for message in self.of(AssistantMessage) for block in message.content]
        return [block for block in blocks if isinstance(block, ToolUseBlock)]

    @property
    def tool_results(self) -> list[ToolResultBlock]:
        contents = [message.content for message in self.of(UserMessage) if isinstance(message.content, list)]
        return [block for content in contents for block in content if isinstance(block, ToolResultBlock)]


@dataclass
class Stage:
    """The folders of one scenario and the agent to run."""

    agent: str
    project: Path
    outside: Path

    @classmethod
    def enter(cls, environment: dict[str, str]) -> Stage:
        """Set the environment of this process, for the SDK and the agents that it starts."""
        os.environ.clear()
        os.environ.update(environment)
        return cls(environment["STAGE_AGENT"], Path(environment["STAGE_PROJECT"]), Path(environment["STAGE_OUTSIDE"]))

    def options(self, **given: Any) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(**{"cli_path": self.agent, "cwd": self.project} | given)

    def client(self, **given: Any) -> ClaudeSDKClient:
        return ClaudeSDKClient(self.options(**given))

    async def ask(self, prompt: str, **given: Any) -> Said:
        """A conversation of one turn."""
        async with self.client(**given) as client:
            return await turn(client, prompt)

    @property
    def made(self) -> bool:
        return (self.project / "made.txt").exists()


async def turn(client: ClaudeSDKClient, prompt: str) -> Said:
    """Send a prompt and wait for the result."""
    await client.query(prompt)
    return await answer(client)


async def answer(client: ClaudeSDKClient) -> Said:
    return Said([message async for message in client.receive_response()])


def user_line(content: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}


async def lines(*given: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    for line in given:
        yield line


async def allow(tool_name: str, tool_input: dict[str, Any], context: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


async def never(tool_name: str, tool_input: dict[str, Any], context: Any) -> PermissionResultAllow:
    raise AssertionError(f"{tool_name} was not to be asked about")


def equal(seen: Any, wanted: Any) -> None:
    """Assert equality and show both values; pytest does not rewrite assertions in this process."""
    if seen != wanted:
        raise AssertionError(f"{seen!r} is not {wanted!r}")
