"""Prompts and answers: queries, clients, streams, interrupts, limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio

from tests.interop.shim_scenarios.stage import (
    PIXEL,
    TOUCH,
    Sdk,
    Stage,
    allowing,
    calls,
    fails,
    lines,
    scenario,
    text,
    user,
    when,
)

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
THINKING = {"type": "thinking", "thinking": "Let me see."}
HANG = {"type": "hang"}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


@scenario("Hello.", trio=True)
async def query_with_text(sdk: Sdk, stage: Stage) -> None:
    await stage.query("hi")


@scenario("one", "two", trio=True)
async def query_with_an_iterable(sdk: Sdk, stage: Stage) -> None:
    answered = anyio.Event()

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield user("the first")
        await answered.wait()
        yield user([text("the second")])

    async for message in sdk.query(prompt=prompts(), options=stage.options()):
        stage.see(message)
        if isinstance(message, sdk.ResultMessage):
            answered.set()


@scenario("It is a pixel.")
async def query_with_an_image(sdk: Sdk, stage: Stage) -> None:
    await stage.query(lines(user([text("what is this"), PICTURE])))


@scenario("Hello.")
async def query_without_options(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():  # only `claude` on PATH would be found
        await stage.collect(sdk.query(prompt="hi", options=sdk.ClaudeAgentOptions(cli_path="/nonexistent/claude")))


@scenario("Hello.", trio=True)
async def query_left_early(sdk: Sdk, stage: Stage) -> None:
    messages = sdk.query(prompt="hi", options=stage.options())
    async for message in messages:
        stage.see(type(message).__name__)
        if isinstance(message, sdk.AssistantMessage):
            break
    await messages.aclose()


@scenario(when("one", prompt="first"), when("two", said="one"), trio=True)
async def client_with_two_turns(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.turn(client, "the first")
        await stage.turn(client, "the next")


@scenario("Hello.")
async def client_connected_with_text(sdk: Sdk, stage: Stage) -> None:
    client = stage.client()
    await client.connect("hi")
    await stage.collect(client.receive_response())
    await client.disconnect()


@scenario("Hello.")
async def client_connected_with_an_iterable(sdk: Sdk, stage: Stage) -> None:
    client = stage.client()
    await client.connect(lines(user("hi")))
    await stage.collect(client.receive_response())
    await client.disconnect()


@scenario("It is a pixel.")
async def client_query_with_an_iterable(sdk: Sdk, stage: Stage) -> None:
    await stage.ask(lines(user([text("what is this"), PICTURE])))


@scenario("Hello.")
async def client_receive_messages(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await client.query("hi")
        async for message in client.receive_messages():
            stage.see(message)
            if isinstance(message, sdk.ResultMessage):
                break


@scenario("Hello.")
async def client_query_with_a_session_id(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await client.query("hi", session_id="mine")
        await stage.collect(client.receive_response())


@scenario("one", "two")
async def client_connected_again(sdk: Sdk, stage: Stage) -> None:
    client = stage.client()
    for _ in range(2):
        await client.connect()
        await stage.turn(client, "hi")
        await client.disconnect()


@scenario([THINKING, "red green blue"], trio=True)
async def partial_messages(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", include_partial_messages=True)


@scenario([THINKING, "red"])
async def thinking_block(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go")


@scenario([{"type": "redacted_thinking", "data": "AAAA"}, "red"])
async def redacted_thinking_block(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go")


@scenario(["I begin", HANG], "still here", trio=True)
async def interrupt(sdk: Sdk, stage: Stage) -> None:
    async with stage.client(include_partial_messages=True) as client:
        await client.query("go")
        async for message in client.receive_response():
            stage.see(message)
            if isinstance(message, sdk.StreamEvent) and message.event["type"] == "content_block_stop":
                stage.see(await client.interrupt(), "interrupt")
        await stage.turn(client, "and now?")


@scenario("Hello.")
async def interrupt_between_turns(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.turn(client, "hi")
        stage.see(await client.interrupt(), "interrupt")


@scenario(TOUCH, TOUCH, "never said")
async def max_turns_of_a_client(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", max_turns=1, can_use_tool=allowing(stage))


@scenario(TOUCH, TOUCH, "never said")
async def max_turns_of_a_query(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("go", max_turns=1, permission_mode="bypassPermissions")


@scenario(TOUCH, TOUCH, "never said")
async def budget_of_a_client(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", max_budget_usd=0.0001, permission_mode="bypassPermissions")


@scenario(TOUCH, TOUCH, "never said")
async def budget_of_a_query(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("go", max_budget_usd=0.0001, permission_mode="bypassPermissions")


@scenario(fails(400, "the request is odd"))
async def api_error_of_a_client(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go")


@scenario(fails(400, "the request is odd"))
async def api_error_of_a_query(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("go")


@scenario(fails(404, "no such model"))
async def unknown_model(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go")


@scenario(calls("StructuredOutput", name="Ada", age=36), "done")
async def structured_output(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("who?", output_format={"type": "json_schema", "schema": PERSON})


@scenario(calls("StructuredOutput", name="Ada"), calls("StructuredOutput", name="Ada", age=36), "done")
async def structured_output_after_a_mistake(sdk: Sdk, stage: Stage) -> None:
    await stage.query("who?", output_format={"type": "json_schema", "schema": PERSON})


@scenario([calls("Bash", command="echo left"), calls("Bash", command="echo right")], "both")
async def parallel_tools(sdk: Sdk, stage: Stage) -> None:
    async with stage.client(allowed_tools=["Bash"]) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
    results = [block for message in messages if isinstance(message, sdk.UserMessage) for block in message.content]
    stage.see([type(message).__name__ for message in messages])
    stage.see(sorted(block.content for block in results))  # either may end first


@scenario(when("Good day, Ada.", prompt="Greet Ada warmly"), afterwards="what?")
async def custom_slash_command(sdk: Sdk, stage: Stage) -> None:
    stage.put(".claude/commands/greet.md", "---\ndescription: Greets\n---\nGreet $ARGUMENTS warmly")
    await stage.ask("/greet Ada", setting_sources=["project"])


@scenario("Hello.")
async def local_slash_command(sdk: Sdk, stage: Stage) -> None:
    messages = await stage.ask("/no-such-command")
    stage.see(len(messages), "messages")


@scenario("one", "a summary", "two")
async def compact_command(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.turn(client, "remember 42")
        await stage.turn(client, "/compact")


@scenario("one", "two")
async def clear_command(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.turn(client, "remember 42")
        await client.query("/clear")
        await stage.collect(client.receive_response())
        await stage.turn(client, "and now?")


@scenario("Hello.")
async def verbatim_prompts(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("/not-a-command @nothing", verbatim_prompts=True)


@scenario("Hello.")
async def replayed_user_messages(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", extra_args={"replay-user-messages": None})


@scenario({"blocks": [text("cut o")], "stop_reason": "max_tokens"}, "f")
async def answer_cut_at_max_tokens(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi")
