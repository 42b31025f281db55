"""Prompts that wait: their order, the life of a uuid, replays."""

from __future__ import annotations

from typing import Any

from handrail.agent.models.script import hang, text
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same
from handrail.conform.lines import inside, of, sent_text

FIRST, SECOND = (f"7a1f5c1e-0000-4000-8000-00000000000{number}" for number in (1, 2))


def _states(lines: list[Json], uuid: str) -> list[str]:
    return [line.get("state", "") for line in of(lines, "command_lifecycle") if uuid in str(line)]


@check("queue", "A prompt with a uuid is told as queued, started and completed.")
async def lifecycle(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.turn("hello", uuid=FIRST)
    await agent.end()
    same("the states", _states(agent.lines, FIRST), ["queued", "started", "completed"])


@check("queue", "The result names the uuid of its prompt.")
async def result_names_the_prompt(bench: Bench) -> None:
    bench.says(text("Fine."))
    result = (await (await bench.start()).turn("hello", uuid=FIRST))[-1]
    named: list[Any] = [result.get("user_message_uuid"), *(result.get("user_message_uuids") or [])]
    expect(FIRST in named, f"it names {named}")


@check("queue", "Without a uuid no life cycle is told.")
async def no_lifecycle_without_uuid(bench: Bench) -> None:
    bench.says(text("Fine."))
    same("command_lifecycle lines", len(of(await (await bench.start()).turn("hello"), "command_lifecycle")), 0)


@check("queue", "A uuid that was used before is not run again.")
async def duplicate(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start()
    await agent.turn("first", uuid=FIRST)
    await agent.prompt("first again", uuid=FIRST)
    lines = await agent.turn("second", uuid=SECOND)
    same("the result", lines[-1].get("result"), "Two.")
    same("requests to the model", len(bench.model.main_requests), 2)
    expect("first again" not in sent_text(bench.model.main_requests[1].body), "the model was sent it")


@check("queue", "A prompt that comes during a turn is run after it, and reaches the model.")
async def waits_its_turn(bench: Bench) -> None:
    bench.says([text("One"), hang()], text("Two."))
    agent = await bench.start()
    await agent.prompt("the first prompt")
    await bench.model.hanging()
    await agent.prompt("the second prompt")
    await agent.request("mcp_status")
    expect("the second prompt" not in sent_text(bench.model.main_requests[0].body), "it was sent at once")
    bench.model.release()
    await agent.result()
    same("the second result", (await agent.result()).get("result"), "Two.")
    expect("the second prompt" in sent_text(bench.model.main_requests[1].body), "the model was not sent it")


@check("queue", "A queued prompt can be cancelled: it is told so, and the model never sees it.")
async def cancelled(bench: Bench) -> None:
    bench.says([text("One"), hang()], text("Three."))
    agent = await bench.start()
    await agent.prompt("first", uuid=FIRST)
    await bench.model.hanging()
    await agent.prompt("never mind", uuid=SECOND)
    await agent.until("queued", lambda line: line.get("state") == "queued" and SECOND in str(line))
    answer = await agent.request("cancel_async_message", message_uuid=SECOND)
    same("cancelled", inside(answer, "response").get("cancelled"), True)
    bench.model.release()
    await agent.result()
    await agent.end()
    same("the states", _states(agent.lines, SECOND), ["queued", "cancelled"])
    same("requests to the model", len(bench.model.main_requests), 1)


@check("queue", "An end of input after two prompts: both are run before the process ends.")
async def runs_out(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start()
    await agent.prompt("the first prompt")
    await agent.prompt("the second prompt")
    same("the exit code", await agent.end(), 0)
    sent = "\n".join(sent_text(request.body) for request in bench.model.main_requests)
    expect("the first prompt" in sent and "the second prompt" in sent, "a prompt was lost")


@check(
    "replay", "With --replay-user-messages a prompt is told back, marked isReplay, with its uuid, after system/init."
)
async def echo(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--replay-user-messages")).turn("hello", uuid=FIRST)
    told = [line for line in of(lines, "user") if line.get("isReplay")]
    same("the uuids told back", [line.get("uuid") for line in told], [FIRST])
    expect("hello" in str(told[0].get("message")), "the text is another")
    expect(lines.index(told[0]) > lines.index(of(lines, "system", "init")[0]), "it came before system/init")


@check("replay", "Without the flag no prompt is told back.")
async def no_echo(bench: Bench) -> None:
    bench.says(text("Fine."))
    same("user lines", len(of(await (await bench.start()).turn("hello", uuid=FIRST), "user")), 0)
