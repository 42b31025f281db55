"""Control requests of the host: each gets one answer, also in the middle of a turn."""

from __future__ import annotations

from handrail.agent.models.script import hang, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same, typed
from handrail.conform.lines import inside, of, tool_results


@check("control", "A subtype that nobody knows is answered with an error and the code unsupported_request.")
async def unknown_subtype(bench: Bench) -> None:
    agent = await bench.start()
    answer = await agent.request("fly_to_the_moon")
    same("the answer", (answer.get("subtype"), answer.get("error_code")), ("error", "unsupported_request"))
    expect("fly_to_the_moon" in str(answer.get("error")), f"the error is {answer.get('error')!r}")


@check("control", "Each of several requests sent at once gets exactly one answer, nested, with its own id.")
async def one_answer_each(bench: Bench) -> None:
    agent = await bench.start()
    sent = [await agent.ask(subtype) for subtype in ("initialize", "mcp_status", "nonsense", "get_settings")]
    for request_id in sent:
        await agent.answered(request_id)
    await agent.end()
    got = [line["response"].get("request_id") for line in of(agent.lines, "control_response")]
    same("the answered ids", sorted(got), sorted(sent))
    mcp = next(
        line["response"] for line in of(agent.lines, "control_response") if line["response"]["request_id"] == sent[1]
    )
    typed(mcp, {"response": dict}, "the answer to mcp_status")


@check("control", "set_model changes the model of the next request.")
async def set_model(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start("--model", "claude-sonnet-4-5")
    await agent.turn("first")
    same("the answer", (await agent.request("set_model", model="claude-opus-4-5")).get("subtype"), "success")
    await agent.turn("second")
    models = [request.body["model"] for request in bench.model.main_requests]
    same("the models asked", models, ["claude-sonnet-4-5", "claude-opus-4-5"])


@check("control", "set_model with something that is no text is refused with the code invalid_request.")
async def set_model_to_a_number(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_model", model=7)
    same("the answer", (answer.get("subtype"), answer.get("error_code")), ("error", "invalid_request"))


@check("control", "set_permission_mode is answered with the mode, told as system/status, and takes effect.")
async def set_permission_mode(bench: Bench) -> None:
    path = str(bench.lab.project / "made.txt")
    bench.says(tool_use("Write", file_path=path, content="x"), text("Done."))
    agent = await bench.start()
    await agent.request("initialize")
    answer = await agent.request("set_permission_mode", mode="acceptEdits")
    same("the answer", inside(answer, "response").get("mode"), "acceptEdits")
    same("the mode of system/status", (await agent.system("status")).get("permissionMode"), "acceptEdits")
    lines = await agent.turn("go")
    same("permission questions", len(of(lines, "control_request")), 0)
    expect((bench.lab.project / "made.txt").exists(), "the file was not written")


@check("control", "A mode that does not exist is refused with an error.")
async def unknown_mode(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_permission_mode", mode="whatever")
    same("the answer", (answer.get("subtype"), answer.get("error_code")), ("error", "invalid_mode"))


@check("control", "bypassPermissions is refused unless the agent was started for it.")
async def bypass_must_be_launched(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_permission_mode", mode="bypassPermissions")
    same("the answer", (answer.get("subtype"), answer.get("error_code")), ("error", "bypass_not_launched"))


@check("control", "Requests are answered while the model is still speaking.")
async def in_the_middle_of_a_turn(bench: Bench) -> None:
    bench.says([text("Wait for it."), hang(), text("Here.")])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    answer = await agent.request("mcp_status")
    same("the answer", answer.get("subtype"), "success")
    same("results before the model has ended", len(of(agent.lines, "result")), 0)
    bench.model.release()
    await agent.result()


@check("control", "Without servers mcp_status answers an empty list.")
async def mcp_status_empty(bench: Bench) -> None:
    answer = await (await bench.start()).request("mcp_status")
    same("the servers", inside(answer, "response").get("mcpServers"), [])


@check("control", "A request that has nothing to tell is acknowledged without a payload.")
async def bare_acknowledgement(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_max_thinking_tokens", max_thinking_tokens=2000)
    same("the answer", (answer.get("subtype"), "response" in answer), ("success", False))


@check("control", "end_session is acknowledged, and the process ends with 0.")
async def end_session(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    same("the answer", (await agent.request("end_session")).get("subtype"), "success")
    same("the exit code", await agent.exited(), 0)


@check("control", "rename_session is acknowledged and told as system/session_title_changed.")
async def rename_session(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.turn("hello")
    same("the answer", (await agent.request("rename_session", title="A walk")).get("subtype"), "success")
    line = await agent.system("session_title_changed")
    expect("A walk" in str(line), "the line does not have the title")


@check("control", "get_settings answers what is in force and where it comes from.")
async def get_settings(bench: Bench) -> None:
    answer = await (await bench.start()).request("get_settings")
    typed(inside(answer, "response"), {"effective": dict, "sources": list}, "the answer")


@check("control", "read_file answers the contents of a file of the project.")
async def read_file(bench: Bench) -> None:
    (bench.lab.project / "note.txt").write_text("a note\n")
    agent = await bench.start()
    answer: Json = await agent.request("read_file", path="note.txt")
    same("the contents", inside(answer, "response").get("contents"), "a note\n")


@check("control", "Rewinding files is refused in words while checkpoints are not switched on.")
async def rewind_is_off(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    mark = "7a1f5c1e-0000-4000-8000-000000000001"
    await agent.turn("hello", uuid=mark)
    answer = await agent.request("rewind_files", user_message_id=mark)
    refused = answer.get("subtype") == "error" or inside(answer, "response").get("canRewind") is False
    expect(refused, f"the answer is {answer}")


@check("control", "With checkpoints, rewind_files tells in a dry run what it would change, and then changes it back.")
async def rewind(bench: Bench) -> None:
    note, mark = bench.lab.project / "note.txt", "7a1f5c1e-0000-4000-8000-000000000002"
    note.write_text("before\n")
    edit = tool_use("Edit", file_path=str(note), old_string="before", new_string="after")
    bench.says(tool_use("Read", file_path=str(note)), edit, text("Done."))
    flags = ("--permission-mode", "acceptEdits")
    agent = await bench.start(*flags, env={"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"})
    lines = await agent.turn("go", uuid=mark)
    same("is_error of the tool results", [bool(block.get("is_error")) for block in tool_results(lines)], [False, False])
    trial = await agent.request("rewind_files", user_message_id=mark, dry_run=True)
    same("canRewind", inside(trial, "response").get("canRewind"), True)
    same("the file after the dry run", note.read_text(), "after\n")
    await agent.request("rewind_files", user_message_id=mark)
    same("the file after the rewind", note.read_text(), "before\n")
