"""A turn: how it begins, one line per block and per tool result, one result and its figures."""

from __future__ import annotations

from handrail.agent.models.script import reply, text, thinking, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same, typed
from handrail.conform.lines import blocks, content_of, kinds, of, sent_text, tool_results

WORK = ([thinking("A file is wanted."), text("I look."), tool_use("Bash", command="echo one")], text("Done."))


async def _worked(bench: Bench) -> list[Json]:
    bench.says(*WORK)
    return await (await bench.start()).turn("go")


@check("turn", "Every turn begins with its own system/init, in one session.")
async def init_each_turn(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start()
    turns = [await agent.turn("first"), await agent.turn("second")]
    same("system/init lines per turn", [len(of(turn, "system", "init")) for turn in turns], [1, 1])
    inits = [of(turn, "system", "init")[0] for turn in turns]
    same("the second session_id", inits[1]["session_id"], inits[0]["session_id"])


@check("turn", "system/init comes before the first assistant line of its turn.")
async def init_first(bench: Bench) -> None:
    lines = await _worked(bench)
    order = [
        line["type"]
        for line in lines
        if line["type"] in ("assistant", "user", "result") or line in of(lines, "system", "init")
    ]
    same("the first of them", order[0], "system")


@check("turn", "system/init names cwd, tools, model, mode, commands, servers, agents, key source and version.")
async def init_fields(bench: Bench) -> None:
    init = of(await _worked(bench), "system", "init")[0]
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
    typed(init, {**dict.fromkeys(words, str), **dict.fromkeys(lists, list)}, "system/init")
    same("its cwd", init["cwd"], str(bench.lab.project))
    same("its mode", init["permissionMode"], "default")
    expect({"Bash", "Read", "Edit", "Write"} <= set(init["tools"]), f"its tools are {init['tools']}")


@check("turn", "Each content block is an assistant line of its own, all with the id of their message.")
async def one_line_per_block(bench: Bench) -> None:
    lines = await _worked(bench)
    first, *_ = of(lines, "assistant")
    parts = [line for line in of(lines, "assistant") if line["message"]["id"] == first["message"]["id"]]
    found = [[block["type"] for block in content_of(line["message"])] for line in parts]
    same("the blocks per line", found, [["thinking"], ["text"], ["tool_use"]])


@check("turn", "Assistant lines come before their message has ended, so their stop_reason is null.")
async def stop_reason_is_open(bench: Bench) -> None:
    lines = of(await _worked(bench), "assistant")
    same("the stop reasons", {line["message"].get("stop_reason") for line in lines}, {None})


@check("turn", "Assistant lines have role, model, usage, and parent_tool_use_id null on the main thread.")
async def assistant_fields(bench: Bench) -> None:
    for line in of(await _worked(bench), "assistant"):
        typed(line["message"], {"id": str, "role": str, "model": str, "usage": dict, "content": list}, "a message")
        same("parent_tool_use_id", line.get("parent_tool_use_id", "missing"), None)


@check("turn", "Lines of the conversation have a uuid, each its own, and the session_id.")
async def ids(bench: Bench) -> None:
    lines = [line for line in await _worked(bench) if line["type"] in ("assistant", "user", "result", "system")]
    for line in lines:
        typed(line, {"uuid": str, "session_id": str}, f"a {line['type']} line")
    same("uuids that occur twice", len(lines) - len({line["uuid"] for line in lines}), 0)
    same("session ids", len({line["session_id"] for line in lines}), 1)


@check("turn", "A turn ends with exactly one result, and nothing of the turn follows it.")
async def one_result(bench: Bench) -> None:
    bench.says(*WORK)
    agent = await bench.start()
    await agent.turn("go")
    late = [line for line in await agent.settled() if line["type"] in ("assistant", "user", "result", "stream_event")]
    same("what follows the result", kinds(late), "nothing")
    same("results", len(of(agent.lines, "result")), 1)


@check("turn", "A result has subtype, is_error, text, times, cost, usage, modelUsage and permission_denials.")
async def result_fields(bench: Bench) -> None:
    result = (await _worked(bench))[-1]
    number = (int, float)
    numbers = dict.fromkeys(("duration_ms", "duration_api_ms", "num_turns", "total_cost_usd"), number)
    others = {"usage": dict, "modelUsage": dict, "permission_denials": list, "session_id": str, "uuid": str}
    typed(result, {**numbers, **others}, "the result")
    seen = (result.get("subtype"), result.get("is_error"), result.get("result"), result.get("terminal_reason"))
    same("the result", seen, ("success", False, "Done.", "completed"))


@check("turn", "num_turns is one more than the user lines of the turn.")
async def num_turns(bench: Bench) -> None:
    calls = [tool_use("Bash", command=f"echo {name}") for name in "ab"]
    bench.says(calls, tool_use("Bash", command="echo c"), text("Done."))
    lines = await (await bench.start()).turn("go")
    same("num_turns", lines[-1]["num_turns"], 1 + len(of(lines, "user")))
    same("user lines", len(of(lines, "user")), 3)


@check("turn", "usage counts the requests of this turn alone; cost and modelUsage count the session.")
async def usage(bench: Bench) -> None:
    figures = {"input_tokens": 1000, "output_tokens": 50}
    bench.says(reply(text("One."), usage=figures), reply(text("Two."), usage=figures))
    agent = await bench.start()
    first, second = [(await agent.turn("go"))[-1] for _ in range(2)]
    counted = [result["usage"]["output_tokens"] for result in (first, second)]
    same("usage.output_tokens of both turns", counted, [50, 50])
    totals = [sum(model["outputTokens"] for model in result["modelUsage"].values()) for result in (first, second)]
    same("modelUsage.outputTokens of both turns", totals, [50, 100])
    expect(second["total_cost_usd"] > first["total_cost_usd"] > 0, "the cost does not grow")


@check("turn", "usage adds up the requests of one turn.")
async def usage_adds_up(bench: Bench) -> None:
    figures = {"input_tokens": 10, "output_tokens": 7}
    call = tool_use("Bash", command="echo x")
    bench.says(reply(call, usage=figures), reply(call, usage=figures), reply(text("Done."), usage=figures))
    result = (await (await bench.start()).turn("go"))[-1]
    seen = (result["usage"]["input_tokens"], result["usage"]["output_tokens"])
    same("input and output tokens", seen, (30, 21))


@check("turn", "Each tool result is a user line of its own, with its structured tool_use_result.")
async def one_line_per_tool_result(bench: Bench) -> None:
    bench.says([tool_use("Bash", command="echo one"), tool_use("Bash", command="echo two")], text("Done."))
    lines = await (await bench.start()).turn("go")
    found = [len(content_of(line["message"])) for line in of(lines, "user")]
    same("tool results per user line", found, [1, 1])
    outputs = sorted(str(line["tool_use_result"]["stdout"]).strip() for line in of(lines, "user"))
    same("the outputs", outputs, ["one", "two"])


@check("turn", "Every tool use gets one tool result with its id, and the model is sent them all.")
async def tool_results_pair(bench: Bench) -> None:
    names = ["one", "two", "three"]
    bench.says([tool_use("Bash", command=f"echo {name}") for name in names], text("Done."))
    lines = await (await bench.start()).turn("go")
    asked = sorted(block["id"] for block in blocks(lines, "assistant", "tool_use"))
    same("the ids of the results", sorted(block["tool_use_id"] for block in tool_results(lines)), asked)
    sent = sent_text(bench.model.main_requests[1].body)
    expect(all(name in sent for name in names), "a result did not reach the model")


@check("turn", "A tool that does not exist is told to the model as an error, and the turn goes on.")
async def unknown_tool(bench: Bench) -> None:
    bench.says(tool_use("NoSuchTool", x=1), text("I see."))
    lines = await (await bench.start()).turn("go")
    same("is_error of the tool results", [block.get("is_error") for block in tool_results(lines)], [True])
    same("the result", lines[-1].get("result"), "I see.")


@check("turn", "A command that fails is an error result with its output, and the turn goes on.")
async def failing_command(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="ls ./no-such-file"), text("I see."))
    lines = await (await bench.start()).turn("go")
    same("is_error of the tool results", [block.get("is_error") for block in tool_results(lines)], [True])
    expect("no-such-file" in sent_text(bench.model.main_requests[1].body), "the model does not see the error")


@check("turn", "The next turn knows what was said before.")
async def memory(bench: Bench) -> None:
    bench.says(text("Your colour is blue."), text("Blue."))
    agent = await bench.start()
    await agent.turn("my colour is blue, remember that")
    await agent.turn("which one?")
    sent = sent_text(bench.model.main_requests[1].body)
    expect("remember that" in sent and "Your colour is blue." in sent, "the model was not sent the first turn")
