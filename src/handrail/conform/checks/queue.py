"""Queued prompts: order, lifecycle, duplicates, replays."""

from __future__ import annotations

from typing import Any

from handrail.agent.models.script import hang, text
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal
from handrail.conform.lines import nested, of_type, sent_text

FIRST, SECOND = (f"7a1f5c1e-0000-4000-8000-00000000000{number}" for number in (1, 2))


def _states(lines: list[Json], uuid: str) -> list[str]:
    return [line.get("state", "") for line in of_type(lines, "command_lifecycle") if uuid in str(line)]


@check("queue", "A prompt with a uuid is reported as queued, started and completed.")
async def lifecycle(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.turn("hello", uuid=FIRST)
    await agent.end()
    expect_equal("states", _states(agent.lines, FIRST), ["queued", "started", "completed"])


@check("queue", "The result contains the uuid of its prompt.")
async def result_contains_prompt_uuid(bench: Bench) -> None:
    bench.says(text("Fine."))
    result = (await (await bench.start()).turn("hello", uuid=FIRST))[-1]
    named: list[Any] = [result.get("user_message_uuid"), *(result.get("user_message_uuids") or [])]
    expect(FIRST in named, f"uuids in the result: {named}")


@check("queue", "A prompt without a uuid has no command_lifecycle lines.")
async def no_lifecycle_without_uuid(bench: Bench) -> None:
    bench.says(text("Fine."))
    expect_equal(
        "command_lifecycle lines", len(of_type(await (await bench.start()).turn("hello"), "command_lifecycle")), 0
    )


@check("queue", "A prompt with a uuid that was already used is not run.")
async def duplicate(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start()
    await agent.turn("first", uuid=FIRST)
    await agent.prompt("first again", uuid=FIRST)
    lines = await agent.turn("second", uuid=SECOND)
    expect_equal("result", lines[-1].get("result"), "Two.")
    expect_equal("requests to the model", len(bench.model.main_requests), 2)
    expect("first again" not in sent_text(bench.model.main_requests[1].body), "the duplicate was sent to the model")


@check("queue", "A prompt sent during a turn runs after that turn.")
async def prompt_during_a_turn(bench: Bench) -> None:
    bench.says([text("One"), hang()], text("Two."))
    agent = await bench.start()
    await agent.prompt("the first prompt")
    await bench.model.hanging()
    await agent.prompt("the second prompt")
    await agent.request("mcp_status")
    expect(
        "the second prompt" not in sent_text(bench.model.main_requests[0].body), "it was added to the current request"
    )
    bench.model.release()
    await agent.result()
    expect_equal("second result", (await agent.result()).get("result"), "Two.")
    expect(
        "the second prompt" in sent_text(bench.model.main_requests[1].body),
        "the second prompt was not sent to the model",
    )


@check("queue", "A queued prompt can be cancelled: this is reported, and the prompt is not sent to the model.")
async def cancelled(bench: Bench) -> None:
    bench.says([text("One"), hang()], text("Three."))
    agent = await bench.start()
    await agent.prompt("first", uuid=FIRST)
    await bench.model.hanging()
    await agent.prompt("never mind", uuid=SECOND)
    await agent.wait_for("queued", lambda line: line.get("state") == "queued" and SECOND in str(line))
    answer = await agent.request("cancel_async_message", message_uuid=SECOND)
    expect_equal("cancelled", nested(answer, "response").get("cancelled"), True)
    bench.model.release()
    await agent.result()
    await agent.end()
    expect_equal("states", _states(agent.lines, SECOND), ["queued", "cancelled"])
    expect_equal("requests to the model", len(bench.model.main_requests), 1)


@check("queue", "At end of input, all queued prompts are run before the process exits.")
async def drained_at_end_of_input(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start()
    await agent.prompt("the first prompt")
    await agent.prompt("the second prompt")
    expect_equal("exit code", await agent.end(), 0)
    sent = "\n".join(sent_text(request.body) for request in bench.model.main_requests)
    expect("the first prompt" in sent and "the second prompt" in sent, "a prompt was lost")


@check("replay", "With --replay-user-messages a prompt is written back after system/init, with its uuid and isReplay.")
async def echo(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--replay-user-messages")).turn("hello", uuid=FIRST)
    told = [line for line in of_type(lines, "user") if line.get("isReplay")]
    expect_equal("replayed uuids", [line.get("uuid") for line in told], [FIRST])
    expect("hello" in str(told[0].get("message")), "the text differs")
    expect(lines.index(told[0]) > lines.index(of_type(lines, "system", "init")[0]), "it precedes system/init")


@check("replay", "Without --replay-user-messages no prompt is written back.")
async def off(bench: Bench) -> None:
    bench.says(text("Fine."))
    expect_equal("user lines", len(of_type(await (await bench.start()).turn("hello", uuid=FIRST), "user")), 0)
