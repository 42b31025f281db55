"""Permission questions, the effects of their answers, and modes and rules that make them unnecessary."""

from __future__ import annotations

import json

from handrail.agent.models.script import text, tool_use
from handrail.conform.agent_process import AgentProcess
from handrail.conform.bench import Bench
from handrail.conform.check import Drift, Json, check, expect, expect_equal, expect_fields
from handrail.conform.lines import nested, of_type, tool_results, tool_texts

MAKE = "touch made.txt"


async def _pending_question(bench: Bench, *then: object) -> tuple[AgentProcess, Json]:
    """Start an agent that asks for permission to create a file."""
    bench.says(tool_use("Bash", command=MAKE, description="Make a file"), *(then or (text("Done."),)))
    agent = await bench.start()
    await agent.prompt("go")
    return agent, await agent.next_request()


def _made(bench: Bench, name: str = "made.txt") -> bool:
    return (bench.lab.project / name).exists()


@check("permission", "can_use_tool has a request id and contains the tool, its input and the tool use id.")
async def question(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    expect_fields(asked, {"request_id": str, "request": dict}, "question")
    expect_fields(asked["request"], {"tool_name": str, "input": dict, "tool_use_id": str}, "request")
    expect_equal("tool", asked["request"]["tool_name"], "Bash")
    expect_equal("command", asked["request"]["input"].get("command"), MAKE)
    use = [block["id"] for line in of_type(agent.lines, "assistant") for block in line["message"]["content"]][-1:]
    if use:
        expect_equal("tool_use_id", asked["request"]["tool_use_id"], use[0])
    expect(not _made(bench), "the command ran before the question was answered")


@check("permission", "An allowed tool runs with its original input if the answer does not give another.")
async def allow(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    await agent.answer(asked, {"behavior": "allow"})
    result = await agent.result()
    expect(_made(bench), "the command did not run")
    expect_equal("denials", result["permission_denials"], [])


@check(
    "permission", "A denied tool does not run, the model gets the message as an error result, and the turn continues."
)
async def deny(bench: Bench) -> None:
    agent, asked = await _pending_question(bench, text("I see."))
    await agent.answer(asked, {"behavior": "deny", "message": "not on a Sunday"})
    result = await agent.result()
    expect(not _made(bench), "the command ran")
    expect_equal("tool results", tool_texts(agent.lines), ["not on a Sunday"])
    expect_equal("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])
    expect_equal("result", (result.get("is_error"), result.get("result")), (False, "I see."))


@check("permission", "The result lists each denial with the tool, the tool use id and the input.")
async def denials(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    await agent.answer(asked, {"behavior": "deny", "message": "no"})
    denied = (await agent.result())["permission_denials"]
    expect_equal("denials", len(denied), 1)
    expect_equal("tool", denied[0].get("tool_name"), "Bash")
    expect_equal("tool_use_id", denied[0].get("tool_use_id"), asked["request"]["tool_use_id"])
    expect_equal("command", nested(denied[0], "tool_input").get("command"), MAKE)


@check("permission", "An allowed tool runs with the updated input of the answer.")
async def updated_input(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    changed = {**asked["request"]["input"], "command": "touch other.txt"}
    await agent.answer(asked, {"behavior": "allow", "updatedInput": changed})
    await agent.result()
    expect_equal("files created", (_made(bench), _made(bench, "other.txt")), (False, True))


@check(
    "permission",
    "A denial with interrupt ends the turn with error_during_execution and aborted_tools; the session continues.",
)
async def deny_and_interrupt(bench: Bench) -> None:
    agent, asked = await _pending_question(bench, text("Next."))
    await agent.answer(asked, {"behavior": "deny", "message": "stop", "interrupt": True})
    result = await agent.result()
    seen = (result.get("subtype"), result.get("terminal_reason"), result.get("is_error"))
    expect_equal("result", seen, ("error_during_execution", "aborted_tools", True))
    expect_equal("next result", (await agent.turn("again"))[-1].get("result"), "Next.")


@check(
    "permission", "Tools that run in parallel ask in parallel: the second question does not wait for the first answer."
)
async def concurrent_questions(bench: Bench) -> None:
    for name in "ab":
        (bench.lab.outside / name).write_text(f"this is {name}")
    calls = [tool_use("Read", file_path=str(bench.lab.outside / name)) for name in "ab"]
    bench.says(calls, text("Done."))
    agent = await bench.start()
    await agent.prompt("go")
    first, second = await agent.next_request(), await agent.next_request()
    expect(first["request_id"] != second["request_id"], "both questions have the same id")
    await agent.answer(second, {"behavior": "allow"})
    await agent.answer(first, {"behavior": "deny", "message": "not this one"})
    await agent.result()
    expect_equal(
        "is_error of the tool results",
        sorted(bool(block.get("is_error")) for block in tool_results(agent.lines)),
        [False, True],
    )


@check("permission", "An interrupt withdraws a pending question with control_cancel_request and its id.")
async def withdrawn(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    await agent.request("interrupt")
    result = await agent.result()
    cancelled = [line.get("request_id") for line in of_type(agent.lines, "control_cancel_request")]
    expect_equal("cancelled ids", cancelled, [asked["request_id"]])
    expect_equal("terminal_reason", result.get("terminal_reason"), "aborted_tools")
    expect(not _made(bench), "the command ran")


@check("permission", "An answer to a withdrawn question is ignored.")
async def late_answer(bench: Bench) -> None:
    agent, asked = await _pending_question(bench, text("Next."))
    await agent.request("interrupt")
    await agent.result()
    await agent.answer(asked, {"behavior": "allow"})
    expect_equal("next result", (await agent.turn("again"))[-1].get("result"), "Next.")
    expect(not _made(bench), "the command ran")


@check("permission", "An answer whose payload is not nested does not count as permission: the tool does not run.")
async def flat_answer(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    body = {"subtype": "success", "request_id": asked["request_id"], "behavior": "allow"}
    await agent.send({"type": "control_response", "response": body})
    await agent.result()
    expect(not _made(bench), "the command ran")
    expect_equal("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])


@check("permission", "An error answer denies the tool and is passed to the model.")
async def error_answer(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    body = {"subtype": "error", "request_id": asked["request_id"], "error": "the host is out"}
    await agent.send({"type": "control_response", "response": body})
    await agent.result()
    expect(not _made(bench), "the command ran")
    expect("the host is out" in "".join(tool_texts(agent.lines)), f"tool results: {tool_texts(agent.lines)}")


@check("permission", "Only the first answer to a question counts.")
async def duplicate_answer(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    await agent.answer(asked, {"behavior": "deny", "message": "no"})
    await agent.answer(asked, {"behavior": "allow"})
    expect_equal("denials", len((await agent.result())["permission_denials"]), 1)
    expect(not _made(bench), "the command ran")


@check("permission", "A session rule added by an answer makes later questions unnecessary.")
async def session_rule(bench: Bench) -> None:
    agent, asked = await _pending_question(bench, tool_use("Bash", command="touch other.txt"), text("Done."))
    rule = {"toolName": "Bash", "ruleContent": "touch *"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    await agent.answer(asked, {"behavior": "allow", "updatedPermissions": [update]})
    await agent.result()
    expect_equal("questions", len(of_type(agent.lines, "control_request")), 1)
    expect(_made(bench, "other.txt"), "the second command did not run")


@check("permission", "A question suggests a rule; returning it with the answer saves it in settings.local.json.")
async def suggestion(bench: Bench) -> None:
    agent, asked = await _pending_question(bench)
    offered = [each for each in asked["request"].get("permission_suggestions", ()) if each.get("type") == "addRules"]
    expect(offered, "the question suggests no rule")
    await agent.answer(asked, {"behavior": "allow", "updatedPermissions": offered})
    await agent.result()
    file = bench.lab.project / ".claude" / "settings.local.json"
    expect(file.exists(), "settings.local.json was not written")
    expect(json.loads(file.read_text())["permissions"]["allow"], "settings.local.json lacks the rule")


@check("permission", "Reading project files and running harmless commands causes no question.")
async def no_question_for_reads(bench: Bench) -> None:
    (bench.lab.project / "note.txt").write_text("a note\n")
    bench.says(
        [tool_use("Read", file_path=str(bench.lab.project / "note.txt")), tool_use("Bash", command="ls")], text("Done.")
    )
    lines = await (await bench.start()).turn("go")
    expect_equal("questions", len(of_type(lines, "control_request")), 0)
    expect_equal("is_error", [bool(block.get("is_error")) for block in tool_results(lines)], [False, False])


@check("permission", "In acceptEdits mode, files in the project are written without a question.")
async def accept_edits(bench: Bench) -> None:
    bench.says(tool_use("Write", file_path=str(bench.lab.project / "made.txt"), content="x"), text("Done."))
    lines = await (await bench.start("--permission-mode", "acceptEdits")).turn("go")
    expect_equal("questions", len(of_type(lines, "control_request")), 0)
    expect(_made(bench), "the file was not written")


@check("permission", "In dontAsk mode, tools that need a question are denied and reported as system/permission_denied.")
async def dont_ask(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    lines = await (await bench.start("--permission-mode", "dontAsk")).turn("go")
    expect_equal("questions", len(of_type(lines, "control_request")), 0)
    expect_equal("system/permission_denied lines", len(of_type(lines, "system", "permission_denied")), 1)
    expect_equal("is_error", [block.get("is_error") for block in tool_results(lines)], [True])
    expect(not _made(bench), "the command ran")


@check("permission", "Without --permission-prompt-tool, tools that need a question are denied.")
async def no_prompt_tool(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    lines = await (await bench.start(asks=False)).turn("go")
    expect_equal("is_error", [block.get("is_error") for block in tool_results(lines)], [True])
    expect_equal("denials", len(lines[-1]["permission_denials"]), 1)
    expect(not _made(bench), "the command ran")


@check("permission", "A tool named in --disallowedTools is not offered to the model.")
async def disallowed_tool(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--disallowedTools", "Bash")).turn("hello")
    expect("Bash" not in of_type(lines, "system", "init")[0]["tools"], "system/init lists Bash")
    offered = [tool.get("name") for tool in bench.model.main_requests[0].body.get("tools", ())]
    expect("Bash" not in offered, "Bash is offered to the model")


@check("permission", "A deny rule overrides an allow rule, without a question.")
async def deny_beats_allow(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    agent = await bench.start("--allowedTools", "Bash(touch *)", "--disallowedTools", "Bash(touch made*)")
    lines = await agent.turn("go")
    expect_equal("questions", len(of_type(lines, "control_request")), 0)
    expect(not _made(bench), "the command ran")


@check("permission", "An allow rule on the command line makes the question unnecessary.")
async def allow_rule(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    lines = await (await bench.start("--allowedTools", "Bash(touch *)")).turn("go")
    expect_equal("questions", len(of_type(lines, "control_request")), 0)
    expect(_made(bench), "the command did not run")


@check(
    "permission", "AskUserQuestion arrives as can_use_tool, and the answers, keyed by question text, reach the model."
)
async def ask_user_question(bench: Bench) -> None:
    options = [{"label": label, "description": f"The colour {label}"} for label in ("Red", "Green")]
    question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    bench.says(tool_use("AskUserQuestion", questions=[question]), text("Green it is."))
    agent = await bench.start()
    await agent.prompt("go")
    asked = await agent.next_request()
    expect_equal("tool", asked["request"]["tool_name"], "AskUserQuestion")
    answers = {**asked["request"]["input"], "answers": {"Which colour?": "Green"}}
    await agent.answer(asked, {"behavior": "allow", "updatedInput": answers})
    await agent.result()
    if "Green" not in "".join(tool_texts(agent.lines)):
        raise Drift(f"tool results: {tool_texts(agent.lines)}")
