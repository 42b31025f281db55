"""Control requests of the host, while idle and during a turn."""

from __future__ import annotations

from handrail.agent.models.script import hang, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal, expect_fields
from handrail.conform.lines import nested, of_type, tool_results


@check("control", "An unknown subtype is answered with an error and the code unsupported_request.")
async def unknown_subtype(bench: Bench) -> None:
    agent = await bench.start()
    answer = await agent.request("fly_to_the_moon")
    expect_equal("answer", (answer.get("subtype"), answer.get("error_code")), ("error", "unsupported_request"))
    expect("fly_to_the_moon" in str(answer.get("error")), f"error: {answer.get('error')!r}")


@check("control", "Requests sent together each get exactly one answer, with their own id and a nested payload.")
async def one_answer_each(bench: Bench) -> None:
    agent = await bench.start()
    sent = [await agent.send_request(subtype) for subtype in ("initialize", "mcp_status", "nonsense", "get_settings")]
    for request_id in sent:
        await agent.answer_to(request_id)
    await agent.end()
    got = [line["response"].get("request_id") for line in of_type(agent.lines, "control_response")]
    expect_equal("answered ids", sorted(got), sorted(sent))
    mcp = next(
        line["response"]
        for line in of_type(agent.lines, "control_response")
        if line["response"]["request_id"] == sent[1]
    )
    expect_fields(mcp, {"response": dict}, "the answer to mcp_status")


@check("control", "set_model changes the model of the next request.")
async def set_model(bench: Bench) -> None:
    bench.says(text("One."), text("Two."))
    agent = await bench.start("--model", "claude-sonnet-4-5")
    await agent.turn("first")
    expect_equal("answer", (await agent.request("set_model", model="claude-opus-4-5")).get("subtype"), "success")
    await agent.turn("second")
    models = [request.body["model"] for request in bench.model.main_requests]
    expect_equal("models requested", models, ["claude-sonnet-4-5", "claude-opus-4-5"])


@check("control", "set_model with a value that is not a string is answered with the error code invalid_request.")
async def invalid_model(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_model", model=7)
    expect_equal("answer", (answer.get("subtype"), answer.get("error_code")), ("error", "invalid_request"))


@check("control", "set_permission_mode is answered with the mode, reported as system/status, and takes effect.")
async def set_permission_mode(bench: Bench) -> None:
    path = str(bench.lab.project / "made.txt")
    bench.says(tool_use("Write", file_path=path, content="x"), text("Done."))
    agent = await bench.start()
    await agent.request("initialize")
    answer = await agent.request("set_permission_mode", mode="acceptEdits")
    expect_equal("answer", nested(answer, "response").get("mode"), "acceptEdits")
    expect_equal("mode of system/status", (await agent.system("status")).get("permissionMode"), "acceptEdits")
    lines = await agent.turn("go")
    expect_equal("permission questions", len(of_type(lines, "control_request")), 0)
    expect((bench.lab.project / "made.txt").exists(), "the file was not written")


@check("control", "set_permission_mode with an unknown mode is answered with an error.")
async def unknown_mode(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_permission_mode", mode="whatever")
    expect_equal("answer", (answer.get("subtype"), answer.get("error_code")), ("error", "invalid_mode"))


@check("control", "bypassPermissions is refused unless the agent was started with it enabled.")
async def bypass_not_enabled(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_permission_mode", mode="bypassPermissions")
    expect_equal("answer", (answer.get("subtype"), answer.get("error_code")), ("error", "bypass_not_launched"))


@check("control", "Requests are answered while the model is still streaming.")
async def during_a_turn(bench: Bench) -> None:
    bench.says([text("Wait for it."), hang(), text("Here.")])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    answer = await agent.request("mcp_status")
    expect_equal("answer", answer.get("subtype"), "success")
    expect_equal("results before the model finished", len(of_type(agent.lines, "result")), 0)
    bench.model.release()
    await agent.result()


@check("control", "mcp_status returns an empty list if there are no servers.")
async def mcp_status_empty(bench: Bench) -> None:
    answer = await (await bench.start()).request("mcp_status")
    expect_equal("servers", nested(answer, "response").get("mcpServers"), [])


@check("control", "A request without a return value is acknowledged without a payload.")
async def answer_without_payload(bench: Bench) -> None:
    answer = await (await bench.start()).request("set_max_thinking_tokens", max_thinking_tokens=2000)
    expect_equal("answer", (answer.get("subtype"), "response" in answer), ("success", False))


@check("control", "end_session is acknowledged, and the process exits with code 0.")
async def end_session(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    expect_equal("answer", (await agent.request("end_session")).get("subtype"), "success")
    expect_equal("exit code", await agent.wait(), 0)


@check("control", "rename_session is acknowledged and reported as system/session_title_changed.")
async def rename_session(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.turn("hello")
    expect_equal("answer", (await agent.request("rename_session", title="A walk")).get("subtype"), "success")
    line = await agent.system("session_title_changed")
    expect("A walk" in str(line), "the line lacks the title")


@check("control", "get_settings returns the effective settings and their sources.")
async def get_settings(bench: Bench) -> None:
    answer = await (await bench.start()).request("get_settings")
    expect_fields(nested(answer, "response"), {"effective": dict, "sources": list}, "answer")


@check("control", "read_file returns the contents of a file in the project.")
async def read_file(bench: Bench) -> None:
    (bench.lab.project / "note.txt").write_text("a note\n")
    agent = await bench.start()
    answer: Json = await agent.request("read_file", path="note.txt")
    expect_equal("contents", nested(answer, "response").get("contents"), "a note\n")


@check("control", "rewind_files is refused if file checkpoints are disabled.")
async def rewind_without_checkpoints(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    mark = "7a1f5c1e-0000-4000-8000-000000000001"
    await agent.turn("hello", uuid=mark)
    answer = await agent.request("rewind_files", user_message_id=mark)
    refused = answer.get("subtype") == "error" or nested(answer, "response").get("canRewind") is False
    expect(refused, f"answer: {answer}")


@check("control", "With checkpoints enabled, rewind_files restores files; with dry_run it changes nothing.")
async def rewind(bench: Bench) -> None:
    note, mark = bench.lab.project / "note.txt", "7a1f5c1e-0000-4000-8000-000000000002"
    note.write_text("before\n")
    edit = tool_use("Edit", file_path=str(note), old_string="before", new_string="after")
    bench.says(tool_use("Read", file_path=str(note)), edit, text("Done."))
    flags = ("--permission-mode", "acceptEdits")
    agent = await bench.start(*flags, env={"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"})
    lines = await agent.turn("go", uuid=mark)
    expect_equal(
        "is_error of the tool results", [bool(block.get("is_error")) for block in tool_results(lines)], [False, False]
    )
    trial = await agent.request("rewind_files", user_message_id=mark, dry_run=True)
    expect_equal("canRewind", nested(trial, "response").get("canRewind"), True)
    expect_equal("file after the dry run", note.read_text(), "after\n")
    await agent.request("rewind_files", user_message_id=mark)
    expect_equal("file after the rewind", note.read_text(), "before\n")
