"""Permission prompts: what is asked, what the answers do, and when nobody is asked."""

from __future__ import annotations

import json

from handrail.agent.models.script import text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Drift, Json, check, expect, same, typed
from handrail.conform.lines import inside, of, tool_results, tool_texts
from handrail.conform.talk import Talk

MAKE = "touch made.txt"


async def _asked_for(bench: Bench, *then: object) -> tuple[Talk, Json]:
    """An agent that asks whether it may make a file."""
    bench.says(tool_use("Bash", command=MAKE, description="Make a file"), *(then or (text("Done."),)))
    agent = await bench.start()
    await agent.prompt("go")
    return agent, await agent.asked()


def _made(bench: Bench, name: str = "made.txt") -> bool:
    return (bench.lab.project / name).exists()


@check("permission", "can_use_tool names the tool, its input and the id of its call, and has an id of its own.")
async def question(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    typed(asked, {"request_id": str, "request": dict}, "the question")
    typed(asked["request"], {"tool_name": str, "input": dict, "tool_use_id": str}, "the request")
    same("the tool", asked["request"]["tool_name"], "Bash")
    same("the command", asked["request"]["input"].get("command"), MAKE)
    use = [block["id"] for line in of(agent.lines, "assistant") for block in line["message"]["content"]][-1:]
    if use:
        same("the id of the call", asked["request"]["tool_use_id"], use[0])
    expect(not _made(bench), "the command ran before it was answered")


@check("permission", "An allowed tool runs with its own input where the answer gives none.")
async def allow(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    await agent.answer(asked, {"behavior": "allow"})
    result = await agent.result()
    expect(_made(bench), "the command did not run")
    same("the denials", result["permission_denials"], [])


@check("permission", "A denied tool does not run, the model is told the message, and the turn goes on.")
async def deny(bench: Bench) -> None:
    agent, asked = await _asked_for(bench, text("I see."))
    await agent.answer(asked, {"behavior": "deny", "message": "not on a Sunday"})
    result = await agent.result()
    expect(not _made(bench), "the command ran")
    same("the tool results", tool_texts(agent.lines), ["not on a Sunday"])
    same("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])
    same("the result", (result.get("is_error"), result.get("result")), (False, "I see."))


@check("permission", "The result lists what was denied: tool, id of the call, input.")
async def denials(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    await agent.answer(asked, {"behavior": "deny", "message": "no"})
    denied = (await agent.result())["permission_denials"]
    same("the denials", len(denied), 1)
    same("the tool", denied[0].get("tool_name"), "Bash")
    same("the call", denied[0].get("tool_use_id"), asked["request"]["tool_use_id"])
    same("the command", inside(denied[0], "tool_input").get("command"), MAKE)


@check("permission", "A tool runs with the input that the answer gives it.")
async def updated_input(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    changed = {**asked["request"]["input"], "command": "touch other.txt"}
    await agent.answer(asked, {"behavior": "allow", "updatedInput": changed})
    await agent.result()
    same("which files were made", (_made(bench), _made(bench, "other.txt")), (False, True))


@check("permission", "A denial with interrupt ends the turn: error_during_execution, aborted_tools; the session lives.")
async def deny_and_interrupt(bench: Bench) -> None:
    agent, asked = await _asked_for(bench, text("Next."))
    await agent.answer(asked, {"behavior": "deny", "message": "stop", "interrupt": True})
    result = await agent.result()
    seen = (result.get("subtype"), result.get("terminal_reason"), result.get("is_error"))
    same("the result", seen, ("error_during_execution", "aborted_tools", True))
    same("the next result", (await agent.turn("again"))[-1].get("result"), "Next.")


@check("permission", "Two tools that may run together ask together: the second before the first is answered.")
async def two_at_once(bench: Bench) -> None:
    for name in "ab":
        (bench.lab.outside / name).write_text(f"this is {name}")
    calls = [tool_use("Read", file_path=str(bench.lab.outside / name)) for name in "ab"]
    bench.says(calls, text("Done."))
    agent = await bench.start()
    await agent.prompt("go")
    first, second = await agent.asked(), await agent.asked()
    expect(first["request_id"] != second["request_id"], "both have one id")
    await agent.answer(second, {"behavior": "allow"})
    await agent.answer(first, {"behavior": "deny", "message": "not this one"})
    await agent.result()
    same(
        "is_error of the results",
        sorted(bool(block.get("is_error")) for block in tool_results(agent.lines)),
        [False, True],
    )


@check("permission", "An interrupt withdraws an open question by control_cancel_request with its id.")
async def withdrawn(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    await agent.request("interrupt")
    result = await agent.result()
    cancelled = [line.get("request_id") for line in of(agent.lines, "control_cancel_request")]
    same("the cancelled ids", cancelled, [asked["request_id"]])
    same("the reason", result.get("terminal_reason"), "aborted_tools")
    expect(not _made(bench), "the command ran")


@check("permission", "An answer that comes after its question was withdrawn is ignored.")
async def late_answer(bench: Bench) -> None:
    agent, asked = await _asked_for(bench, text("Next."))
    await agent.request("interrupt")
    await agent.result()
    await agent.answer(asked, {"behavior": "allow"})
    same("the next result", (await agent.turn("again"))[-1].get("result"), "Next.")
    expect(not _made(bench), "the command ran")


@check("permission", "An answer whose payload is not nested is no permission: the tool does not run.")
async def flat_answer(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    body = {"subtype": "success", "request_id": asked["request_id"], "behavior": "allow"}
    await agent.send({"type": "control_response", "response": body})
    await agent.result()
    expect(not _made(bench), "the command ran")
    same("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])


@check("permission", "An error as answer is a denial that tells the model the error.")
async def error_answer(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    body = {"subtype": "error", "request_id": asked["request_id"], "error": "the host is out"}
    await agent.send({"type": "control_response", "response": body})
    await agent.result()
    expect(not _made(bench), "the command ran")
    expect("the host is out" in "".join(tool_texts(agent.lines)), f"the model is told {tool_texts(agent.lines)}")


@check("permission", "The first answer counts; a second one to the same question is ignored.")
async def second_answer(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    await agent.answer(asked, {"behavior": "deny", "message": "no"})
    await agent.answer(asked, {"behavior": "allow"})
    same("denials", len((await agent.result())["permission_denials"]), 1)
    expect(not _made(bench), "the command ran")


@check("permission", "A rule for the session, given with an answer, spares the next question.")
async def session_rule(bench: Bench) -> None:
    agent, asked = await _asked_for(bench, tool_use("Bash", command="touch other.txt"), text("Done."))
    rule = {"toolName": "Bash", "ruleContent": "touch *"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    await agent.answer(asked, {"behavior": "allow", "updatedPermissions": [update]})
    await agent.result()
    same("questions", len(of(agent.lines, "control_request")), 1)
    expect(_made(bench, "other.txt"), "the second command did not run")


@check("permission", "A question about a command suggests a rule, which, handed back, goes to settings.local.json.")
async def suggestion(bench: Bench) -> None:
    agent, asked = await _asked_for(bench)
    offered = [each for each in asked["request"].get("permission_suggestions", ()) if each.get("type") == "addRules"]
    expect(offered, "no rule is suggested")
    await agent.answer(asked, {"behavior": "allow", "updatedPermissions": offered})
    await agent.result()
    file = bench.lab.project / ".claude" / "settings.local.json"
    expect(file.exists(), "no settings.local.json was written")
    expect(json.loads(file.read_text())["permissions"]["allow"], "it has no rule")


@check("permission", "Reading in the project and harmless commands ask nobody.")
async def unasked(bench: Bench) -> None:
    (bench.lab.project / "note.txt").write_text("a note\n")
    bench.says(
        [tool_use("Read", file_path=str(bench.lab.project / "note.txt")), tool_use("Bash", command="ls")], text("Done.")
    )
    lines = await (await bench.start()).turn("go")
    same("questions", len(of(lines, "control_request")), 0)
    same("is_error", [bool(block.get("is_error")) for block in tool_results(lines)], [False, False])


@check("permission", "In acceptEdits a file in the project is written without a question.")
async def accept_edits(bench: Bench) -> None:
    bench.says(tool_use("Write", file_path=str(bench.lab.project / "made.txt"), content="x"), text("Done."))
    lines = await (await bench.start("--permission-mode", "acceptEdits")).turn("go")
    same("questions", len(of(lines, "control_request")), 0)
    expect(_made(bench), "the file was not written")


@check("permission", "In dontAsk what would be asked is denied, and told as system/permission_denied.")
async def dont_ask(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    lines = await (await bench.start("--permission-mode", "dontAsk")).turn("go")
    same("questions", len(of(lines, "control_request")), 0)
    same("system/permission_denied lines", len(of(lines, "system", "permission_denied")), 1)
    same("is_error", [block.get("is_error") for block in tool_results(lines)], [True])
    expect(not _made(bench), "the command ran")


@check("permission", "Without a host that answers, what would be asked is denied.")
async def nobody_to_ask(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    lines = await (await bench.start(asks=False)).turn("go")
    same("is_error", [block.get("is_error") for block in tool_results(lines)], [True])
    same("denials", len(lines[-1]["permission_denials"]), 1)
    expect(not _made(bench), "the command ran")


@check("permission", "A tool that is disallowed by its name is not offered.")
async def disallowed_tool(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--disallowedTools", "Bash")).turn("hello")
    expect("Bash" not in of(lines, "system", "init")[0]["tools"], "system/init lists it")
    offered = [tool.get("name") for tool in bench.model.main_requests[0].body.get("tools", ())]
    expect("Bash" not in offered, "the model is offered it")


@check("permission", "A deny rule wins over an allow rule, without a question.")
async def deny_beats_allow(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    agent = await bench.start("--allowedTools", "Bash(touch *)", "--disallowedTools", "Bash(touch made*)")
    lines = await agent.turn("go")
    same("questions", len(of(lines, "control_request")), 0)
    expect(not _made(bench), "the command ran")


@check("permission", "An allow rule of the command line spares the question.")
async def allow_rule(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=MAKE), text("Done."))
    lines = await (await bench.start("--allowedTools", "Bash(touch *)")).turn("go")
    same("questions", len(of(lines, "control_request")), 0)
    expect(_made(bench), "the command did not run")


@check("permission", "A question to the person is asked like a permission; answers by its text reach the model.")
async def question_to_the_person(bench: Bench) -> None:
    options = [{"label": label, "description": f"The colour {label}"} for label in ("Red", "Green")]
    question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    bench.says(tool_use("AskUserQuestion", questions=[question]), text("Green it is."))
    agent = await bench.start()
    await agent.prompt("go")
    asked = await agent.asked()
    same("the tool", asked["request"]["tool_name"], "AskUserQuestion")
    answers = {**asked["request"]["input"], "answers": {"Which colour?": "Green"}}
    await agent.answer(asked, {"behavior": "allow", "updatedInput": answers})
    await agent.result()
    if "Green" not in "".join(tool_texts(agent.lines)):
        raise Drift(f"the model is told {tool_texts(agent.lines)}")
