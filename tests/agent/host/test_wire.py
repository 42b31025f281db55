from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import stage


async def test_half_a_surrogate_pair_damages_one_character_only(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("fine"))) as host:
        await host.write(b'{"type":"user","message":{"role":"user","content":"a\\ud800b"}}')
        assert (await host.result())["result"] == "fine"
        assert host.model.asked[0]["messages"][0]["content"][0]["text"] == "a\ufffdb"


async def test_unpaired_surrogate_in_an_answer_is_accepted(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("fine"))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no \ud800"}
        assert (await host.turn("go"))["result"] == "fine"
        assert host.results_of_tools()[0]["content"] == "no \ufffd"


async def test_unpaired_surrogate_in_a_control_request_is_accepted(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("fine"))) as host:
        assert (await host.control("set_permission_mode", mode="\ud800"))["subtype"] == "error"
        assert (await host.turn("go"))["result"] == "fine"


async def test_blocks_that_are_no_objects_are_left_out_of_a_prompt(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("fine"))) as host:
        await host.turn(["x", 1, None, {"type": "text", "text": "hi"}])
        assert host.model.asked[0]["messages"][0]["content"] == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    "line", [b"{", b"null", b'{"type":"user"}', b'{"type":"user","message":{"role":"assistant","content":"x"}}']
)
async def test_a_line_that_hosts_must_not_send_ends_the_session_with_one_line_on_stderr(
    tmp_path: Path, line: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    async with stage(tmp_path, Script.of(text("never"))) as host:
        await host.write(line)
        assert await host.exit_code() == 1
        assert host.lines == []
    assert len(capfd.readouterr().err.splitlines()) == 1


async def test_variables_of_the_host_reach_commands(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="echo $GREETING"), text("done"))) as host:
        await host.write({"type": "update_environment_variables", "variables": {"GREETING": "hello"}})
        await host.turn("go")
        assert host.results_of_tools()[0]["content"] == "hello"


async def test_late_initialize_returns_the_pending_questions(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("fine"))) as host:
        del host.answers["can_use_tool"]
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        answer = await host.control("initialize")
        assert answer["pending_permission_requests"] == [asked]
        assert answer["pending_user_dialog_requests"] == []
        await host.answer(asked, {"behavior": "allow"})
        await host.result()
        assert (await host.control("initialize"))["pending_permission_requests"] == []


async def test_the_end_of_the_input_ends_the_session_when_its_work_is_done(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("done"))) as host:
        await host.say("go")
        await host.end_input()
        assert await host.exit_code() == 0
        assert len(host.of("result")) == 1


async def test_the_last_line_needs_no_newline(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("done"))) as host:
        await host.write({"type": "user", "message": {"role": "user", "content": "go"}}, end=b"")
        await host.end_input()
        assert await host.exit_code() == 0
        assert [result["result"] for result in host.of("result")] == ["done"]


async def test_repeated_request_ids_are_all_answered(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("done"))) as host:
        line = b'{"type":"control_request","request_id":"same","request":{"subtype":"mcp_status"}}'
        await host.write(line + b"\n" + line)
        await host.turn("go")
        answers = [line["response"] for line in host.of("control_response")]
        assert [(one["request_id"], one["subtype"]) for one in answers] == [("same", "success")] * 2


@pytest.mark.parametrize("content", [5, True, {"type": "text", "text": "x"}])
async def test_content_that_is_neither_text_nor_blocks_starts_no_turn(tmp_path: Path, content: Any) -> None:
    async with stage(tmp_path, Script.of(text("done"))) as host:
        await host.say(content)
        await host.turn("go")
        assert len(host.of("result")) == 1
        assert len(host.model.asked) == 1
