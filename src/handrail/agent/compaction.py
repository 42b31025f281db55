"""Making room. In: a conversation that has become long. Out: a summary by the model, and the last messages."""

from __future__ import annotations

import asyncio
import re
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from handrail.agent.history import size_of, text_block
from handrail.agent.models.base import ModelError
from handrail.agent.models.prices import facts_of

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Compaction", "fitted"]

JsonObject = dict[str, Any]
FULL: Final = 0.85
"""The part of the window at which room is made."""
SHOWN: Final = 0.9
"""The part of the window that the conversation may have when it is to be summed up."""
LEFT: Final = 0.4
"""The part of the window that the last messages may have afterwards."""
REFUSED: Final = 0.7
"""The part of a conversation that was refused for its length which the model may be shown."""
KEPT: Final = 4
_SHORTEST: Final = 1000
_LEFT_OUT: Final = "\n[… the rest was left out to make room]"
ASK_FOR_SUMMARY: Final = """\
Write a summary of the conversation so far, for somebody who has to go on with the work and sees nothing else: what the
user asked for, what was done, which files matter and why, what was decided, what went wrong, what is left to do.
Use no tool. Put the summary between <summary> and </summary>."""
_TAGGED: Final = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
TRIES: Final = 2
_SUMMARY: Final = (
    "The earlier part of this conversation was replaced by a summary to make room.\n\n{summary}\n\n"
    "Go on from here without asking the user what was said before."
)


class Compaction:
    """Replaces what was said by a summary."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def if_needed(self) -> bool:
        """Make room when the window is nearly full."""
        history = self._engine.history
        if history.estimate < self._window() * FULL or len(history.messages) <= KEPT:
            return False
        return not await self.compact("auto")

    async def after_refusal(self) -> bool:
        """Make room because the API says that it is too much, whatever our own estimate was."""
        history = self._engine.history
        if len(history.messages) <= KEPT:
            return False
        return not await self.compact("auto", window=min(self._window(), int(history.estimate * REFUSED)))

    def _window(self) -> int:
        """As many tokens as the model can be shown."""
        given = self._engine.session.environment.get("HANDRAIL_CONTEXT_WINDOW", "")
        wanted = int(given) if re.fullmatch(r"[0-9]{1,9}", given) else 0
        return wanted or facts_of(self._engine.session.model).context_window

    async def compact(self, trigger: str, instructions: str = "", *, window: int = 0) -> str:
        """Do it. `window`: as many tokens as the model can be shown, where it is not as many as its table says.
        Out: what went wrong, if anything did."""
        engine, begun = self._engine, monotonic()
        window = window or self._window()
        before = engine.history.estimate
        await self._hooks("PreCompact", trigger, custom_instructions=instructions)
        await engine.speaker.system("status", status="compacting")
        try:
            summary = await self._summary(instructions, int(window * SHOWN))
        except ModelError as error:
            await self._fail(error.message)
            return error.message
        except asyncio.CancelledError:
            await self._fail("interrupted")
            raise
        await engine.speaker.system("status", status=None, compact_result="success")
        if trigger == "manual":
            await engine.say_init()
        await self._tell(trigger, before, (monotonic() - begun) * 1000, summary, int(window * LEFT))
        await self._hooks("PostCompact", trigger, compact_summary=summary)
        return ""

    async def _fail(self, why: str) -> None:
        await self._engine.speaker.system("status", status=None, compact_result="failed", compact_error=why)

    async def _hooks(self, event: str, trigger: str, **fields: Any) -> None:
        engine = self._engine
        await engine.thread.hear(event, engine.thread.hook_input(event, trigger=trigger, **fields))

    async def _summary(self, instructions: str, most: int) -> str:
        engine, begun = self._engine, monotonic()
        asked = f"{ASK_FOR_SUMMARY}\n\n{instructions}".strip()
        messages = [*engine.history.messages, {"role": "user", "content": [text_block(asked)]}]
        if len(messages) > 1 and messages[-2]["role"] == "user":
            messages[-2:] = [{"role": "user", "content": [*messages[-2]["content"], text_block(asked)]}]
        messages = fitted(messages, most)
        # The same beginning as every other request of the conversation, tools too: so the API has it in its cache.
        request = replace(engine.loop_request(), messages=messages, max_tokens=8_000)
        text = ""
        for _ in range(TRIES):
            message = await engine.model.whole(request)
            engine.ledger.add(request.model, message.get("usage") or {}, (monotonic() - begun) * 1000, aside=True)
            text = "".join(block.get("text", "") for block in message.get("content", ()))
            if found := _TAGGED.search(text):
                return found[1].strip()
        return text

    async def _tell(self, trigger: str, before: int, took: float, summary: str, most: int) -> None:
        engine, text = self._engine, _SUMMARY.format(summary=summary)
        kept = fitted(self._kept(), most) if trigger == "auto" else []
        metadata = {"trigger": trigger, "pre_tokens": before, "duration_ms": round(took)}
        boundary = engine.transcript.boundary(trigger, before, len(kept))
        engine.history.replace([{"role": "user", "content": [text_block(text)]}])
        for message in kept:
            (engine.history.add_assistant if message["role"] == "assistant" else engine.history.add_user)(
                message["content"]
            )
        await engine.speaker.system("compact_boundary", uuid=boundary, compact_metadata=metadata)
        await engine.speaker.user(text, isSynthetic=True, isReplay=False)

    def _kept(self) -> list[JsonObject]:
        """The last messages, beginning with a prompt and not in the middle of a call."""
        messages = self._engine.history.messages
        for start in range(max(len(messages) - KEPT, 1), len(messages)):
            message = messages[start]
            if message["role"] == "user" and all(block["type"] != "tool_result" for block in message["content"]):
                return messages[start:]
        return messages[-2:] if len(messages) > 2 and messages[-1]["role"] == "user" else messages[-1:]


def fitted(messages: list[JsonObject], tokens: int) -> list[JsonObject]:
    """The same messages, their longest texts shortened until all have no more than about so many tokens."""
    most = tokens * 4
    while size_of(messages) > tokens and most > _SHORTEST:
        most //= 2
        messages = [
            {**message, "content": [_shortened(block, most) for block in message["content"]]} for message in messages
        ]
    return messages


def _shortened(block: JsonObject, most: int) -> JsonObject:
    """A block whose text is no longer than this. Calls and thoughts stay as the model wrote them."""
    name = {"text": "text", "tool_result": "content"}.get(str(block.get("type")), "")
    held: Any = block.get(name)
    if isinstance(held, list):
        return {**block, name: [_shortened(inner, most) for inner in cast("list[JsonObject]", held)]}
    return {**block, name: held[:most] + _LEFT_OUT} if isinstance(held, str) and len(held) > most else block
