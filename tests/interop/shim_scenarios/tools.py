"""Tools of the caller, MCP servers, subagents, background tasks."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from tests.interop.shim_scenarios.stage import PIXEL, Sdk, Stage, allowing, calls, first, scenario, when

LOOK = calls("Agent", description="Look", prompt="look closely", subagent_type="looker", run_in_background=False)
LOOKING = (when("I see a mouse.", prompt="look closely"), when("A mouse.", tool_result="I see a mouse."), LOOK)


class Place(TypedDict):
    """The input of a tool."""

    city: Annotated[str, "Name of the city"]
    days: int


def result(words: str, **extra: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **extra}


def sums(sdk: Sdk, stage: Stage) -> dict[str, Any]:
    """Options with a server of several tools, all allowed."""

    @sdk.tool("add", "Adds two numbers", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        stage.note("add", given)
        return result(str(given["a"] + given["b"]))

    @sdk.tool("divide", "Divides two numbers", {"a": int, "b": int})
    async def divide(given: dict[str, Any]) -> dict[str, Any]:
        return result("by zero?", is_error=True)

    @sdk.tool("explode", "Raises", {})
    async def explode(given: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("it exploded")

    @sdk.tool("picture", "Shows a picture", {})
    async def picture(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}

    @sdk.tool("weather", "Tells the weather", Place)
    async def weather(given: dict[str, Any]) -> dict[str, Any]:
        stage.note("weather", given)
        return result(f"rain in {given['city']}")

    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}

    @sdk.tool("count", "Counts", schema, annotations=sdk.ToolAnnotations(readOnlyHint=True))
    async def count(given: dict[str, Any]) -> dict[str, Any]:
        stage.note("count", given)
        return result(f"counted {given['n']}")

    tools = [add, divide, explode, picture, weather, count]
    server = sdk.create_sdk_mcp_server("sums", version="2.0.0", tools=tools)
    return {"mcp_servers": {"sums": server}, "allowed_tools": ["mcp__sums"]}


@scenario(calls("mcp__sums__add", a=2, b=3), "5", trio=True)
async def tool_of_the_caller(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__add", a=2, b=3), "5")
async def tool_of_the_caller_in_a_query(sdk: Sdk, stage: Stage) -> None:
    await stage.query("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__divide", a=1, b=0), "it failed")
async def tool_that_reports_an_error(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__explode"), "it failed")
async def tool_that_raises(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__picture"), "a pixel")
async def tool_with_an_image(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__weather", city="Oslo", days=2), "rain")
async def tool_with_a_typed_dict(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__count", n=3), "three")
async def tool_with_a_json_schema(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", **sums(sdk, stage))


@scenario(calls("mcp__sums__count", n=0), "refused")
async def tool_with_invalid_input(sdk: Sdk, stage: Stage) -> None:
    async with stage.client(**sums(sdk, stage)) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
    (result,) = first(sdk, "UserMessage", messages).content
    stage.see([type(message).__name__ for message in messages])
    stage.see([result.is_error, result.content.partition(":")[0]])  # the rest is the text of the validator


@scenario(calls("mcp__sums__add", a=2, b=3), "5")
async def tool_that_needs_permission(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", can_use_tool=allowing(stage), mcp_servers=sums(sdk, stage)["mcp_servers"])


@scenario("hello")
async def mcp_status(sdk: Sdk, stage: Stage) -> None:
    options = sums(sdk, stage)
    options["mcp_servers"]["dead"] = {"command": "/nonexistent/server"}
    async with stage.client(**options) as client:
        await stage.turn(client, "hello")
        stage.see(await client.get_mcp_status(), "status")
        stage.see(await client.toggle_mcp_server("sums", enabled=False), "toggled")
        status = await client.get_mcp_status()
        stage.see({one["name"]: one["status"] for one in status["mcpServers"]}, "after")
        stage.see(await client.toggle_mcp_server("sums", enabled=True), "toggled")


@scenario("hello")
async def unknown_mcp_server(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        with stage.failing():
            await client.reconnect_mcp_server("nothing")
        with stage.failing():
            await client.toggle_mcp_server("nothing", enabled=True)


@scenario(*LOOKING)
async def subagent(sdk: Sdk, stage: Stage) -> None:
    looker = sdk.AgentDefinition(description="Looks", prompt="You have good eyes", tools=["Read"], model="haiku")
    await stage.ask("go", agents={"looker": looker}, allowed_tools=["Agent"])


@scenario(*LOOKING)
async def subagent_with_forwarded_text(sdk: Sdk, stage: Stage) -> None:
    looker = sdk.AgentDefinition(description="Looks", prompt="You have good eyes", tools=["Read"])
    options = {"agents": {"looker": looker}, "allowed_tools": ["Agent"], "forward_subagent_text": True}
    await stage.query("go", **options)


@scenario(
    when("it runs", prompt="start it", after="Bash"),
    when("it was stopped", prompt="<task-notification>"),
    calls("Bash", command="sleep 600", run_in_background=True),
    afterwards="it runs",
)
async def background_task_stopped(sdk: Sdk, stage: Stage) -> None:
    async with stage.client(allowed_tools=["Bash"]) as client:
        messages = await stage.turn(client, "start it")
        started = first(sdk, "TaskStartedMessage", messages)
        stage.see(await client.stop_task(started.task_id), "stopped")
        async for message in client.receive_messages():
            if isinstance(message, sdk.TaskNotificationMessage):
                stage.see(message)
                break


@scenario("hello")
async def unknown_task(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        with stage.failing():
            await client.stop_task("no-such-task")
