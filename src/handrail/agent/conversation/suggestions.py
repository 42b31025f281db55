"""Suggests the next prompt after a turn, for hosts that ask for it with `promptSuggestions` or --prompt-suggestions.

The request starts like every other request of the conversation, so the API has most of it in its cache. A prompt that
arrives meanwhile cancels it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from handrail.agent.conversation.history import History
from handrail.agent.models.base import ModelError
from handrail.agent.speaker import Speaker
from handrail.schema.activity_messages import PromptSuggestionMessage

__all__ = ["Suggestions"]

LEAST_ANSWERS: Final = 2
"""After the first answer there is too little to guess from."""
LONGEST: Final = 200
ASK: Final = """\
Predict the next message of the user in this conversation, as they would type it: two to twelve words in their language
and style. Suggest only what clearly follows from the conversation. If nothing does, or if the topic is sensitive, reply
with the single word NONE. Reply with the message alone. Use no tool."""


class Suggestions:
    """Asks for one suggestion after each turn. `ask` asks the model about the conversation."""

    def __init__(self, history: History, speaker: Speaker, ask: Callable[[str], Awaitable[str]]) -> None:
        self._history, self._speaker, self._ask = history, speaker, ask
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start to ask, beside the conversation."""
        answers = sum(message["role"] == "assistant" for message in self._history.messages)
        if answers >= LEAST_ANSWERS and self._history.messages[-1]["role"] == "assistant":
            self._task = asyncio.create_task(self._suggest(), name="handrail prompt suggestion")

    async def cancel(self) -> None:
        """Drop a suggestion that is not there yet."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def finish(self) -> None:
        """Wait for a suggestion: the host has closed the input, and may still want to show it."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _suggest(self) -> None:
        try:
            text = (await self._ask(ASK)).strip()
        except ModelError:
            return  # a suggestion is not worth an error
        if text and text.upper().rstrip(".") != "NONE" and "\n" not in text and len(text) <= LONGEST:
            await self._speaker.send(PromptSuggestionMessage(suggestion=text))
