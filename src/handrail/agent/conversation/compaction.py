"""Compaction: replaces a long conversation by a summary of the model, and keeps the last messages."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from handrail.agent.blocks import text_block
from handrail.agent.conversation.history import size_of, with_question
from handrail.agent.conversation.loop import request_of
from handrail.agent.conversation.thread import Thread
from handrail.agent.known_models import facts_of
from handrail.agent.models.base import ModelError
from handrail.agent.session import Session
from handrail.agent.variables import is_on

if TYPE_CHECKING:
    from handrail.agent.record.transcript import Transcript

__all__ = ["Compaction", "compaction_limit", "fitted"]

JsonObject = dict[str, Any]
FULL: Final = 0.85
"""The part of a window from the environment at which the conversation is compacted."""
SPARE: Final = 33_000
"""Tokens left in the window of a model when the conversation is compacted: room for an answer."""
SHOWN: Final = 0.9
"""The part of the window that the request for a summary may fill."""
LEFT: Final = 0.4
"""The part of the window that the last messages may fill afterwards."""
REFUSED: Final = 0.7
"""After a refusal, the part of the refused conversation that may be sent."""
KEPT: Final = 4
"""How many of the last messages are kept at most."""
ANSWER: Final = 20_000
"""Tokens that are left free for an answer."""
TRIES: Final = 2
"""How often the model is asked for a summary."""
_SHORTEST: Final = 1000
"""Texts are not shortened below this number of characters."""

BLOCKED: Final = "Compaction blocked by PreCompact hook"
NOT_ENOUGH: Final = "Not enough messages to compact."
NO_SUMMARY: Final = "The model gave no summary, and the conversation stays as it was"
_LEFT_OUT: Final = "\n[… the rest was left out to make room]"
ASK_FOR_SUMMARY: Final = """\
Write a summary of the conversation so far. It replaces the conversation: the agent that continues the work sees \
nothing else, so leave out nothing that the work depends on. Cover, in this order, as far as there is something to say:

1. Intent: what the user asked for, in their own words where the wording matters, and every later correction or limit.
2. Decisions: what was chosen and why, what was ruled out, conventions and facts that were found out.
3. Files: each file that was read, created or changed and matters, with its path, what it holds, and the exact code or \
names that are still needed.
4. Errors: what went wrong, how it was solved, and what the user said about it.
5. State: what is done and checked, what was being done last, and where exactly it stopped.
6. Open work: what the user still expects, with the next step first; only what was asked for.

Use no tool. Put the summary between <summary> and </summary>."""
_TAGGED: Final = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_SUMMARY: Final = """\
The earlier part of this conversation no longer fits into the context window and was replaced by the summary below. \
What it says the user asked for, decided or corrected still holds. Files may have changed since: read a file again \
before you change it. If you need an exact text from before, such as code, an error or an output, look for it in the \
transcript: {transcript}

{summary}

Continue where the work stopped, without repeating the summary, without mentioning that there is one, and without \
asking the user what was said before. If nothing is left to do, wait for the next prompt."""


def compaction_limit(session: Session) -> int:
    """The tokens at which the conversation is compacted."""
    window = _window(session)
    return window - SPARE if window == facts_of(session.model).context_window else int(window * FULL)


def _window(session: Session) -> int:
    """The context window in tokens: that of the model, or a smaller one that the environment names."""
    of_model = facts_of(session.model).context_window
    if own := _number(session.environment.get("HANDRAIL_CONTEXT_WINDOW", "")):
        return own
    return min(_number(session.environment.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "")) or of_model, of_model)


class Compaction:
    """Compacts the main thread. `say_init` sends `system/init`, which a manual compaction starts with."""

    def __init__(self, thread: Thread, transcript: Transcript, say_init: Callable[[], Awaitable[None]]) -> None:
        self._thread, self._transcript, self._say_init = thread, transcript, say_init

    async def if_needed(self) -> bool:
        """Compact if the window is nearly full. Returns whether it did."""
        if (
            not self.is_automatic()
            or self._thread.history.estimate < compaction_limit(self._thread.session)
            or not self._has_answer()
        ):
            return False
        return not await self.compact("auto")

    def is_automatic(self) -> bool:
        """Whether a nearly full window is compacted without a command of the user."""
        session = self._thread.session
        off = any(is_on(session.environment, name) for name in ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"))
        return not off and session.settings.values.get("autoCompactEnabled") is not False

    def is_full(self) -> bool:
        """Whether another answer would not fit, and automatic compaction is switched off."""
        return not self.is_automatic() and self._thread.history.estimate > _window(self._thread.session) - ANSWER

    def _has_answer(self) -> bool:
        """Whether there is something to sum up: a conversation of prompts alone cannot become shorter."""
        return any(message["role"] == "assistant" for message in self._thread.history.messages)

    async def after_refusal(self) -> bool:
        """Compact because the API refused the conversation as too long. Returns whether it did."""
        if not self._has_answer():
            return False
        window = min(_window(self._thread.session), int(self._thread.history.estimate * REFUSED))
        return not await self.compact("auto", window=window)

    async def compact(self, trigger: str, instructions: str = "", *, window: int = 0) -> str:
        """Replace the conversation by a summary. Returns the error, or "" after success.

        `window`: the tokens that the model accepts, if fewer than the table says.
        """
        thread, start = self._thread, monotonic()
        window = window or _window(self._thread.session)
        before = thread.history.estimate
        await thread.speaker.system("status", status="compacting")
        if not self._has_answer():
            await self._fail(NOT_ENOUGH)
            return NOT_ENOUGH
        if refused := await thread.object_to("PreCompact", trigger=trigger, custom_instructions=instructions or None):
            await self._fail(f"skipped: {BLOCKED}: {refused}")
            return f"{BLOCKED}: {refused}"
        try:
            summary = await self._summary(instructions, int(window * SHOWN))
        except ModelError as error:
            await self._fail(error.message)
            return error.message
        except asyncio.CancelledError:
            await self._fail("interrupted")
            raise
        await thread.speaker.system("status", status=None, compact_result="success")
        if trigger == "manual":
            await self._say_init()
        await self._replace(trigger, before, (monotonic() - start) * 1000, summary, int(window * LEFT))
        thread.forget_shown()
        thread.add_notes(thread.state_notes())
        await thread.start_session("compact")
        after = thread.hook_input("PostCompact", trigger=trigger, compact_summary=summary)
        await thread.hear("PostCompact", after)
        await thread.announce_instructions("compact")
        return ""

    async def _fail(self, reason: str) -> None:
        await self._thread.speaker.system("status", status=None, compact_result="failed", compact_error=reason)

    async def _summary(self, instructions: str, most: int) -> str:
        thread, start = self._thread, monotonic()
        asked = f"{ASK_FOR_SUMMARY}\n\n{instructions}".strip()
        messages = fitted(with_question(thread.messages(), asked), most)
        # It starts like every other request of the conversation, tools included, so the API has it in its cache.
        request = replace(request_of(thread), messages=messages, max_tokens=8_000)
        summary = ""
        for _ in range(TRIES):
            message = await thread.model.whole(request)
            thread.ledger.add(request.model, message.get("usage") or {}, (monotonic() - start) * 1000, aside=True)
            text = "".join(block.get("text", "") for block in message.get("content", ()))
            found = _TAGGED.search(text)
            summary = (found[1] if found else text).strip()
            if found and summary:
                return summary
        if not summary:
            raise ModelError(NO_SUMMARY)
        return summary  # a model that leaves out the tags twice will not learn it

    async def _replace(self, trigger: str, before: int, took: float, summary: str, most: int) -> None:
        history, speaker = self._thread.history, self._thread.speaker
        text = _SUMMARY.format(summary=summary, transcript=self._transcript.path)
        kept = fitted(self._kept(), most) if trigger == "auto" else []
        metadata = {"trigger": trigger, "pre_tokens": before, "duration_ms": round(took)}
        boundary = self._transcript.boundary(trigger, before, len(kept))
        history.replace([{"role": "user", "content": [text_block(text)]}])
        for message in kept:
            (history.add_assistant if message["role"] == "assistant" else history.add_user)(message["content"])
        await speaker.system("compact_boundary", uuid=boundary, compact_metadata=metadata)
        await speaker.user(text, isSynthetic=True, isReplay=False)

    def _kept(self) -> list[JsonObject]:
        """The last messages, starting with a prompt and not within a tool call."""
        messages = self._thread.history.messages
        for start in range(max(len(messages) - KEPT, 1), len(messages)):
            message = messages[start]
            if message["role"] == "user" and all(block["type"] != "tool_result" for block in message["content"]):
                return messages[start:]
        return messages[-2:] if len(messages) > 2 and messages[-1]["role"] == "user" else messages[-1:]


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


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
