"""`query`: prompts in, messages out, with a session of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Any

from handrail.claude_agent_sdk.link import Link, user_line
from handrail.claude_agent_sdk.loops import CallerLoop, caller_loop
from handrail.claude_agent_sdk.messages import Message
from handrail.claude_agent_sdk.options import ClaudeAgentOptions
from handrail.claude_agent_sdk.transport import Transport

__all__ = ["Query", "query", "send_each"]

Prompt = str | AsyncIterable[dict[str, Any]]


def query(
    *, prompt: Prompt, options: ClaudeAgentOptions | None = None, transport: Transport | None = None
) -> AsyncIterator[Message]:
    """Start a CLI, send the prompt or each prompt of an iterable, and yield the messages until the CLI has exited.

    Raises CLINotFoundError, CLIConnectionError, and ProcessError or ResultError if the CLI exits with an error.
    """
    return Query(prompt, options or ClaudeAgentOptions(), transport)


class Query(AsyncGenerator[Message, None]):
    """The messages of a `query`. It ends the session when it is closed or garbage collected."""

    def __init__(self, prompt: Prompt, options: ClaudeAgentOptions, transport: Transport | None) -> None:
        self.other_messages: deque[dict[str, Any]] = deque()
        """Frames of types without a class, such as `tool_progress`; the newest 1000."""
        self._prompt = prompt
        self._options = options
        self._transport = transport
        # A generator, because the event loop closes one that is garbage collected.
        self._messages = self._run()

    def __aiter__(self) -> AsyncGenerator[Message, None]:
        return self

    def __anext__(self) -> Any:
        return self._messages.__anext__()

    def asend(self, value: None) -> Any:
        return self._messages.asend(value)

    def athrow(self, *error: Any) -> Any:
        return self._messages.athrow(*error)

    def aclose(self) -> Any:
        return self._messages.aclose()

    async def _run(self) -> AsyncGenerator[Message, None]:
        caller = caller_loop()
        link = Link(self._options, self._transport, caller)
        self.other_messages = link.others
        try:
            await caller.run(link.start)
            if isinstance(self._prompt, str):
                await caller.run(link.send, user_line(self._prompt, "", self._options))
                await caller.run(link.finish_input)
            else:
                caller.spawn(lambda: send_each(self._prompt, link, caller))
            ready = link.ready
            while True:
                while ready:
                    yield ready.popleft()
                if link.ended:
                    break
                await caller.run(link.fill)
        finally:
            await caller.finish(link.close)


async def send_each(prompts: Any, link: Link, caller: CallerLoop) -> None:
    """Send each prompt of an iterable, then close the input. Runs in the loop of the caller."""
    try:
        async for line in prompts:
            await caller.run(link.send, line)
    finally:
        await caller.run(link.finish_input)
