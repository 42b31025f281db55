"""Turns: their lines, tool results, usage and result."""

from __future__ import annotations

from handrail.agent.models.script import reply, text, thinking, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal, expect_fields
from handrail.conform.lines import blocks, content_of, kinds, of_type, sent_text, tool_results

WORK = ([thinking("A file is wanted."), text("I look."), tool_use("Bash", command="echo one")], text("Done."))


async def _worked(bench: Bench) -> list[Json]:
    bench.says(*WORK)
    return await (await bench.start()).turn("go")


@check("turn", "Every turn begins with one system/init line, and all turns have the same session_id.")
async def init_each_turn(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start()
    turns = [await agent.turn("first"), await agent.turn("second")]
    expect_equal("system/init lines per turn", [len(of_type(turn, "system", "init")) for turn in turns], [1, 1])
    inits = [of_type(turn, "system", "init")[0] for turn in turns]
    expect_equal("second session_id", inits[1]["session_id"], inits[0]["session_id"])


@check("turn", "system/init precedes the first assistant line of its turn.")
async def init_first(bench: Bench) -> None:
    lines = await _worked(bench)
    order = [
        line["type"]
        for line in lines
        if line["type"] in ("assistant", "user", "result") or line in of_type(lines, "system", "init")
    ]
    expect_equal("type of the first line", order[0], "system")


@check("turn", "system/init contains cwd, tools, model, mode, commands, servers, agents, key source and version.")
async def init_fields(bench: Bench) -> None:
    init = of_type(await _worked(bench), "system", "init")[0]
    words = (
        "cwd",
        "session_id",
        "uuid",
        "model",
        "permissionMode",
        "apiKeySource",
        "output_style",
        "claude_code_version",
    )
    lists = ("tools", "mcp_servers", "slash_commands", "agents", "skills", "plugins")
    expect_fields(init, {**dict.fromkeys(words, str), **dict.fromkeys(lists, list)}, "system/init")
    expect_equal("cwd", init["cwd"], str(bench.lab.project))
    expect_equal("permissionMode", init["permissionMode"], "default")
    expect({"Bash", "Read", "Edit", "Write"} <= set(init["tools"]), f"tools: {init['tools']}")


@check("turn", "Each content block is a separate assistant line with the id of its message.")
async def one_line_per_block(bench: Bench) -> None:
    lines = await _worked(bench)
    first, *_ = of_type(lines, "assistant")
    parts = [line for line in of_type(lines, "assistant") if line["message"]["id"] == first["message"]["id"]]
    found = [[block["type"] for block in content_of(line["message"])] for line in parts]
    expect_equal("blocks per line", found, [["thinking"], ["text"], ["tool_use"]])


@check("turn", "Assistant lines have stop_reason null, because they are written before their message has ended.")
async def stop_reason_is_null(bench: Bench) -> None:
    lines = of_type(await _worked(bench), "assistant")
    expect_equal("stop reasons", {line["message"].get("stop_reason") for line in lines}, {None})


@check("turn", "Assistant lines have role, model and usage, and parent_tool_use_id null on the main thread.")
async def assistant_fields(bench: Bench) -> None:
    for line in of_type(await _worked(bench), "assistant"):
        expect_fields(
            line["message"], {"id": str, "role": str, "model": str, "usage": dict, "content": list}, "a message"
        )
        expect_equal("parent_tool_use_id", line.get("parent_tool_use_id", "missing"), None)


@check("turn", "Conversation lines have a unique uuid and the session_id.")
async def ids(bench: Bench) -> None:
    lines = [line for line in await _worked(bench) if line["type"] in ("assistant", "user", "result", "system")]
    for line in lines:
        expect_fields(line, {"uuid": str, "session_id": str}, f"a {line['type']} line")
    expect_equal("number of duplicate uuids", len(lines) - len({line["uuid"] for line in lines}), 0)
    expect_equal("session ids", len({line["session_id"] for line in lines}), 1)


@check("turn", "A turn ends with exactly one result, and no line of the turn follows it.")
async def one_result(bench: Bench) -> None:
    bench.says(*WORK)
    agent = await bench.start()
    await agent.turn("go")
    late = [
        line
        for line in await agent.lines_until_exit()
        if line["type"] in ("assistant", "user", "result", "stream_event")
    ]
    expect_equal("lines after the result", kinds(late), "nothing")
    expect_equal("results", len(of_type(agent.lines, "result")), 1)


@check("turn", "A result has subtype, is_error, text, durations, cost, usage, modelUsage and permission_denials.")
async def result_fields(bench: Bench) -> None:
    result = (await _worked(bench))[-1]
    number = (int, float)
    numbers = dict.fromkeys(("duration_ms", "duration_api_ms", "num_turns", "total_cost_usd"), number)
    others = {"usage": dict, "modelUsage": dict, "permission_denials": list, "session_id": str, "uuid": str}
    expect_fields(result, {**numbers, **others}, "result")
    seen = (result.get("subtype"), result.get("is_error"), result.get("result"), result.get("terminal_reason"))
    expect_equal("result", seen, ("success", False, "Done.", "completed"))


@check("turn", "num_turns is the number of user lines in the turn plus one.")
async def num_turns(bench: Bench) -> None:
    calls = [tool_use("Bash", command=f"echo {name}") for name in "ab"]
    bench.says(calls, tool_use("Bash", command="echo c"), text("Done."))
    lines = await (await bench.start()).turn("go")
    expect_equal("num_turns", lines[-1]["num_turns"], 1 + len(of_type(lines, "user")))
    expect_equal("user lines", len(of_type(lines, "user")), 3)


@check("turn", "usage counts this turn only; cost and modelUsage count the whole session.")
async def usage_per_turn(bench: Bench) -> None:
    figures = {"input_tokens": 1000, "output_tokens": 50}
    bench.says(reply(text("One."), usage=figures), reply(text("Two."), usage=figures))
    agent = await bench.start()
    first, second = [(await agent.turn("go"))[-1] for _ in range(2)]
    counted = [result["usage"]["output_tokens"] for result in (first, second)]
    expect_equal("usage.output_tokens of both turns", counted, [50, 50])
    totals = [sum(model["outputTokens"] for model in result["modelUsage"].values()) for result in (first, second)]
    expect_equal("modelUsage.outputTokens of both turns", totals, [50, 100])
    expect(second["total_cost_usd"] > first["total_cost_usd"] > 0, "the cost does not increase")


@check("turn", "usage is the sum over all model requests of the turn.")
async def usage_sums_requests(bench: Bench) -> None:
    figures = {"input_tokens": 10, "output_tokens": 7}
    call = tool_use("Bash", command="echo x")
    bench.says(reply(call, usage=figures), reply(call, usage=figures), reply(text("Done."), usage=figures))
    result = (await (await bench.start()).turn("go"))[-1]
    seen = (result["usage"]["input_tokens"], result["usage"]["output_tokens"])
    expect_equal("input and output tokens", seen, (30, 21))


@check("turn", "Each tool result is a separate user line with a structured tool_use_result.")
async def one_line_per_tool_result(bench: Bench) -> None:
    bench.says([tool_use("Bash", command="echo one"), tool_use("Bash", command="echo two")], text("Done."))
    lines = await (await bench.start()).turn("go")
    found = [len(content_of(line["message"])) for line in of_type(lines, "user")]
    expect_equal("tool results per user line", found, [1, 1])
    outputs = sorted(str(line["tool_use_result"]["stdout"]).strip() for line in of_type(lines, "user"))
    expect_equal("outputs", outputs, ["one", "two"])


@check("turn", "Each tool use gets one tool result with its id, and all results are sent to the model.")
async def one_result_per_tool_use(bench: Bench) -> None:
    names = ["one", "two", "three"]
    bench.says([tool_use("Bash", command=f"echo {name}") for name in names], text("Done."))
    lines = await (await bench.start()).turn("go")
    asked = sorted(block["id"] for block in blocks(lines, "assistant", "tool_use"))
    expect_equal("ids of the results", sorted(block["tool_use_id"] for block in tool_results(lines)), asked)
    sent = sent_text(bench.model.main_requests[1].body)
    expect(all(name in sent for name in names), "a result did not reach the model")


@check("turn", "Calling an unknown tool gives the model an error result, and the turn continues.")
async def unknown_tool(bench: Bench) -> None:
    bench.says(tool_use("NoSuchTool", x=1), text("I see."))
    lines = await (await bench.start()).turn("go")
    expect_equal("is_error of the tool results", [block.get("is_error") for block in tool_results(lines)], [True])
    expect_equal("result", lines[-1].get("result"), "I see.")


@check("turn", "A failing command gives an error result with its output, and the turn continues.")
async def failing_command(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="ls ./no-such-file"), text("I see."))
    lines = await (await bench.start()).turn("go")
    expect_equal("is_error of the tool results", [block.get("is_error") for block in tool_results(lines)], [True])
    expect("no-such-file" in sent_text(bench.model.main_requests[1].body), "the request to the model lacks the error")


@check("turn", "The next turn knows what was said before.")
async def memory(bench: Bench) -> None:
    bench.says(text("Your colour is blue."), text("Blue."))
    agent = await bench.start()
    await agent.turn("my colour is blue, remember that")
    await agent.turn("which one?")
    sent = sent_text(bench.model.main_requests[1].body)
    expect("remember that" in sent and "Your colour is blue." in sent, "the request to the model lacks the first turn")
