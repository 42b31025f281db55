"""Commands about the conversation itself: /compact, /clear, /rename."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from handrail.agent.slash_commands.answers import say_answer, say_result
from handrail.agent.slash_commands.command import Command, Local

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["COMMANDS"]


async def _compact(engine: Engine, instructions: str) -> str:
    begun = monotonic()
    engine.ledger.begin_turn()
    if not engine.history.messages:
        await say_answer(engine, "compact", "Error: No messages to compact", outcome="failed")
        return ""
    await engine.ready()
    problem = await engine.compaction.compact("manual", instructions)
    text = f"Compaction failed: {problem}" if problem else "Compacted"
    await engine.speaker.user(f"<local-command-stdout>{text}</local-command-stdout>", isReplay=True)
    await say_result(engine, "compact", "", begun)
    return ""


async def _clear(engine: Engine, arguments: str) -> str:
    """A new conversation: another id, empty books."""
    begun, new, thread = monotonic(), str(uuid4()), engine.thread
    await thread.hear("SessionEnd", thread.hook_input("SessionEnd", reason="clear"))
    await engine.speaker.say(
        {"type": "conversation_reset", "new_conversation_id": new, "uuid": new, "trigger": "clear"}
    )
    await engine.start_over()
    found = await thread.hear("SessionStart", thread.hook_input("SessionStart", source="clear"))
    for text in found.additional_context:
        engine.history.add_user(text)
    await engine.say_init()
    await say_result(engine, "clear", "", begun)
    return ""


async def _rename(engine: Engine, title: str) -> str:
    from handrail.agent.controls import rename

    if not title.strip():
        return f"This session is called {engine.session.title!r}." if engine.session.title else "Usage: /rename TITLE"
    await rename(engine, title.strip(), source="user")
    return f"This session is now called {title.strip()!r}."


COMMANDS: Final = (
    Command("compact", "Replace the conversation by a summary", "[what to keep]", Local(_compact, speaks=True)),
    Command("clear", "Begin a new conversation", local=Local(_clear, speaks=True)),
    Command("rename", "Give this session a title", "TITLE", Local(_rename)),
)
