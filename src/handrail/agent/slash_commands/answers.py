"""How a command is answered without the model. In: its name and a text. Out: the lines of a turn of its own."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from handrail.agent.events import synthetic_message

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["begin", "say_answer", "say_result"]

JsonObject = dict[str, Any]


async def begin(engine: Engine) -> float:
    """The first line of the turn. Out: when it began."""
    begun = monotonic()
    engine.ledger.begin_turn()
    await engine.ready()
    await engine.say_init()
    return begun


async def say_answer(engine: Engine, name: str, text: str, *, arguments: str = "", outcome: str = "") -> None:
    """A whole turn with this text as its answer; with no text there is a result alone."""
    begun = await begin(engine)
    failed, unavailable = outcome == "failed", outcome == "unavailable_headless"
    tag = "local-command-stderr" if failed else "local-command-stdout"
    told: JsonObject = {"local_command_source": f"<{tag}>{text}</{tag}>"}
    if not unavailable:
        told["local_command_run"] = {"command": _RUN_AS.get(name, name), "args": arguments}
    if outcome:
        told["local_command_outcome"] = {"kind": outcome}
    if text:
        await engine.speaker.assistant(synthetic_message(text), **told)
    await say_result(engine, "" if unavailable else name, "" if failed else text, begun)


_RUN_AS = {"cost": "usage"}


async def say_result(engine: Engine, name: str, text: str, begun: float) -> None:
    """The last line of the turn."""
    line: JsonObject = {
        "subtype": "success",
        "is_error": False,
        "duration_ms": round((monotonic() - begun) * 1000),
        "num_turns": 0,
        "stop_reason": None,
        "permission_denials": [],
        "result": text,
    }
    await engine.say_result({**line, "local_command": name} if name else line)
