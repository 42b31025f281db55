"""Custom tools, subagents, background tasks."""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TextBlock,
    create_sdk_mcp_server,
    tool,
)
from speaking import PIXEL
from stage import Said, Stage, allow, equal, scenario, turn


@tool("add", "Adds two numbers", {"a": int, "b": int})
async def add(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}


@tool("multiply", "Multiplies two numbers", {"a": int, "b": int})
async def multiply(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(given["a"] * given["b"])}]}


@tool("divide", "Divides two numbers", {"a": int, "b": int})
async def divide(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "by zero?"}], "is_error": True}


@tool("picture", "Shows a picture", {})
async def picture(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}


def sums() -> dict[str, Any]:
    """Options with a server of four tools, all allowed."""
    server = create_sdk_mcp_server("sums", tools=[add, multiply, divide, picture])
    return {"mcp_servers": {"sums": server}, "allowed_tools": ["mcp__sums"]}


@scenario
async def sdk_tools(stage: Stage) -> None:
    said = await stage.ask("go", **sums())
    assert {"mcp__sums__add", "mcp__sums__multiply"} <= set(said.init["tools"])
    texts = {result.tool_use_id: result.content[0]["text"] for result in said.tool_results}
    equal([texts[call.id] for call in said.calls], ["5", "12"])
    equal(said.result.result, "5 and 12")


@scenario
async def sdk_tool_error(stage: Stage) -> None:
    said = await stage.ask("go", **sums())
    equal((said.result.result, said.tool_results[0].is_error), ("it failed", True))
    assert "by zero?" in str(said.tool_results[0].content)


@scenario
async def sdk_tool_image(stage: Stage) -> None:
    said = await stage.ask("go", **sums())
    pictures = [block for block in said.tool_results[0].content if block["type"] == "image"]
    equal([block["source"]["media_type"] for block in pictures], ["image/png"])
    equal(said.result.result, "a pixel")


@scenario
async def mcp_status(stage: Stage) -> None:
    options = sums()
    options["mcp_servers"]["dead"] = {"command": "/nonexistent/server"}
    async with stage.client(**options) as client:
        await turn(client, "hello")
        status = {one["name"]: one for one in (await client.get_mcp_status())["mcpServers"]}
        equal((status["sums"]["status"], status["dead"]["status"]), ("connected", "failed"))
        equal(len(status["sums"]["tools"]), 4)
        await client.toggle_mcp_server("sums", enabled=False)
        status = {one["name"]: one for one in (await client.get_mcp_status())["mcpServers"]}
        equal(status["sums"]["status"], "disabled")


@scenario
async def agents(stage: Stage) -> None:
    looker = AgentDefinition(description="Looks", prompt="You have good eyes", tools=["Read"])
    said = await stage.ask("go", agents={"looker": looker}, can_use_tool=allow, forward_subagent_text=True)
    assert "looker" in said.init["agents"]
    inner = [message for message in said.of(AssistantMessage) if message.parent_tool_use_id]
    equal({message.parent_tool_use_id for message in inner}, {said.calls[0].id})
    texts = [block.text for message in inner for block in message.content if isinstance(block, TextBlock)]
    equal(texts, ["I see a mouse."])
    equal(said.result.result, "A mouse, it says.")


@scenario
async def background_task(stage: Stage) -> None:
    async with stage.client(allowed_tools=["Bash"]) as client:
        said = await turn(client, "start it")
        equal(said.result.result, "it runs")
        (started,) = said.of(TaskStartedMessage)
        await client.stop_task(started.task_id)
        said = Said()
        async for message in client.receive_messages():
            said.append(message)
            if isinstance(message, TaskNotificationMessage):
                break
        equal((message.task_id, message.status), (started.task_id, "stopped"))
