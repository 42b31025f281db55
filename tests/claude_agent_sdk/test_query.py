"""`query` with a scripted CLI."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import handrail
from handrail.claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKError,
    CLIConnectionError,
    CLINotFoundError,
    HookMatcher,
    PermissionResultAllow,
    ProcessError,
    ResultError,
    ResultMessage,
    SystemMessage,
    TextBlock,
    query,
)
from tests.claude_agent_sdk.scripted import scripted


async def collect(**arguments: Any) -> list[Any]:
    return [message async for message in query(**arguments)]


async def test_text_prompt(tmp_path: Path):
    script = """
        assert prompt() == "hello"
        say(assistant("Hi"))
        say(result("Hi"))
    """
    first, answer, last = await collect(prompt="hello", options=scripted(tmp_path, script))
    assert isinstance(first, SystemMessage)
    assert answer == AssistantMessage(
        [TextBlock("Hi")], "m", message_id="msg_1", usage={}, session_id=first.data["session_id"], uuid="a"
    )
    assert isinstance(last, ResultMessage)
    assert last.result == "Hi"


async def test_messages_after_the_result_are_yielded(tmp_path: Path):
    script = """
        prompt()
        say(result(), {"type": "system", "subtype": "informational", "content": "bye"})
    """
    *_, last = await collect(prompt="go", options=scripted(tmp_path, script))
    assert last.data["content"] == "bye"


async def prompts(*texts: str) -> AsyncIterator[dict[str, Any]]:
    for text in texts:
        yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "more": [1]}


async def test_prompts_of_an_iterable_are_sent_as_they_are(tmp_path: Path):
    script = """
        lines = [hear(), hear()]
        say(result([[line["message"]["content"], line["more"]] for line in lines]))
    """
    *_, last = await collect(prompt=prompts("one", "two"), options=scripted(tmp_path, script))
    assert json.loads(last.result) == [["one", [1]], ["two", [1]]]


async def test_input_is_closed_after_the_prompt(tmp_path: Path):
    script = """
        prompt()
        say(result(len(sys.stdin.buffer.read())))
        raise SystemExit(0)
    """
    *_, last = await collect(prompt="go", options=scripted(tmp_path, script))
    assert last.result == "0"


async def test_input_is_closed_without_prompts(tmp_path: Path):
    script = """
        try:
            hear()
        except SystemExit:
            say(result("ended"))
        raise SystemExit(0)
    """
    [last] = await collect(prompt=prompts(), options=scripted(tmp_path, script))
    assert last.result == "ended"


async def allow(*_: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


WORDS = """
    def asked():
        return ask("can_use_tool", **permission(command="ls"))["response"]["behavior"]
    def state(name):
        return {"type": "system", "subtype": "session_state_changed", "state": name, "sdk_host_only": True}
    def agent(subtype, **fields):
        return {"type": "system", "subtype": subtype, "task_id": "t1", "task_type": "local_agent", **fields}
"""

STILL_OPEN = {
    "result before the state is idle": 'say(state("running"), result("one"))',
    "agent in the background": 'say(agent("task_started"), result("one"))',
}


@pytest.mark.parametrize("case", STILL_OPEN)
async def test_input_stays_open_until_the_run_has_ended(tmp_path: Path, case: str):
    script = dedent(WORDS) + dedent(f"""
        prompt()
        {STILL_OPEN[case]}
        say(result(asked()))
        say(agent("task_notification"), state("idle"), result("last"))
        try:
            hear()
        except SystemExit:
            say(result("closed"))
        raise SystemExit(0)
    """)
    messages = await collect(prompt="go", options=scripted(tmp_path, script, can_use_tool=allow))
    assert [message.result for message in messages if isinstance(message, ResultMessage)] == [
        "one",
        "allow",
        "last",
        "closed",
    ]
    assert not [message for message in messages if getattr(message, "subtype", "") == "session_state_changed"]


async def test_input_is_closed_after_the_first_result_of_an_old_cli(tmp_path: Path):
    script = """
        prompt()
        say(result(ask("can_use_tool", **permission())["response"]["behavior"]))
        try:
            hear()
        except SystemExit:
            say(result("closed"))
        raise SystemExit(0)
    """
    messages = await collect(prompt="go", options=scripted(tmp_path, script, can_use_tool=allow))
    assert [message.result for message in messages if isinstance(message, ResultMessage)] == ["allow", "closed"]


async def test_leaving_the_loop_ends_the_cli(tmp_path: Path):
    gone = tmp_path / "gone"
    script = f"""
        prompt()
        say(assistant("one"))
        try:
            hear()
        finally:
            open({str(gone)!r}, "w").close()
    """
    messages = query(prompt="go", options=scripted(tmp_path, script, can_use_tool=allow))
    async for message in messages:
        if isinstance(message, AssistantMessage):
            break
    await messages.aclose()  # type: ignore[attr-defined]
    assert gone.exists()


async def test_frames_without_a_class_are_kept_beside_the_messages(tmp_path: Path):
    script = """
        prompt()
        say({"type": "tool_progress", "tool_use_id": "t"}, {"type": "of_tomorrow"}, result())
    """
    messages = query(prompt="go", options=scripted(tmp_path, script))
    kinds = [type(message).__name__ async for message in messages]
    assert kinds == ["SystemMessage", "ResultMessage"]
    others = [frame["type"] for frame in messages.other_messages]  # type: ignore[attr-defined]
    assert others == ["command_lifecycle", "command_lifecycle", "tool_progress", "of_tomorrow"]


async def test_blocks_without_a_class_are_kept_beside_the_content(tmp_path: Path):
    script = """
        prompt()
        say(assistant("text", {"type": "redacted_thinking", "data": "x"}, {"type": "thinking", "thinking": "hm"}))
        say(result())
    """
    _, answer, last = await collect(prompt="go", options=scripted(tmp_path, script))
    assert [type(block).__name__ for block in answer.content] == ["TextBlock", "ThinkingBlock"]
    assert answer.content[1].signature == ""
    assert answer.unknown_blocks == [{"type": "redacted_thinking", "data": "x"}]
    assert answer.raw["message"]["content"][1] == answer.unknown_blocks[0]
    assert last.raw["user_message_uuids"]


# Errors


async def test_cli_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HANDRAIL_CLI", raising=False)
    monkeypatch.setattr("handrail.client.find_cli.PLACES", ())
    with pytest.raises(CLINotFoundError, match="Install it") as error:
        await collect(prompt="go")
    assert isinstance(error.value, handrail.CliNotFound)
    assert isinstance(error.value, FileNotFoundError)


async def test_cli_path_that_does_not_exist():
    with pytest.raises(CLINotFoundError, match="/no/such/cli does not exist") as error:
        await collect(prompt="go", options=ClaudeAgentOptions(cli_path="/no/such/cli"))
    assert isinstance(error.value, handrail.OptionsError)


@pytest.mark.parametrize("kind", [CLIConnectionError, ProcessError, handrail.StartFailed])
async def test_cli_that_exits_at_once(tmp_path: Path, kind: type[Exception]):
    options = scripted(tmp_path, 'print("no key", file=sys.stderr); raise SystemExit(2)')
    with pytest.raises(kind, match="exit code 2(?s:.*)no key") as error:
        await collect(prompt="go", options=options)
    assert isinstance(error.value, ProcessError)
    assert (error.value.exit_code, error.value.stderr) == (2, "no key")


async def test_cli_that_exits_at_once_without_an_error(tmp_path: Path):
    with pytest.raises(CLIConnectionError, match="exit code 0") as error:
        await collect(prompt="go", options=scripted(tmp_path, "raise SystemExit(0)"))
    assert not isinstance(error.value, ProcessError)


async def test_result_that_explains_an_exit_at_once(tmp_path: Path):
    script = 'say(failure("error_during_execution", "No conversation found")); raise SystemExit(1)'
    with pytest.raises(ResultError, match="No conversation found") as error:
        await collect(prompt="go", options=scripted(tmp_path, script))
    assert (error.value.errors, error.value.exit_code) == (["No conversation found"], 1)
    assert isinstance(error.value, handrail.StartFailed)


async def test_cli_that_exits_during_a_turn(tmp_path: Path):
    options = scripted(tmp_path, 'prompt(); print("out of coffee", file=sys.stderr, flush=True); raise SystemExit(3)')
    with pytest.raises(ProcessError, match="exit code: 3") as error:
        await collect(prompt="go", options=options)
    assert (error.value.exit_code, error.value.stderr) == (3, "out of coffee")
    assert isinstance(error.value, handrail.Disconnected)


async def test_cli_killed_by_a_signal_has_a_negative_exit_code(tmp_path: Path):
    options = scripted(tmp_path, "prompt(); os.kill(os.getpid(), 9)")
    with pytest.raises(ProcessError) as error:
        await collect(prompt="go", options=options)
    assert error.value.exit_code == -9


async def test_failed_turn_before_an_exit(tmp_path: Path):
    script = """
        prompt()
        say(failure("error_max_turns", "Too many turns", terminal_reason="max_turns"))
        say({"type": "keep_alive"}, {"type": "system", "subtype": "session_writes_lost", "lost": 1})
        raise SystemExit(1)
    """
    messages = query(prompt="go", options=scripted(tmp_path, script))
    seen = [type(await anext(messages)).__name__ for _ in range(3)]
    assert seen == ["SystemMessage", "ResultMessage", "SystemMessage"]
    with pytest.raises(ResultError, match="error_max_turns.*Too many turns.*exit code: 1") as error:
        await anext(messages)
    assert (error.value.subtype, error.value.errors) == ("error_max_turns", ["Too many turns"])
    assert (error.value.exit_code, error.value.terminal_reason) == (1, "max_turns")


WRONG_OPTIONS: dict[str, dict[str, Any]] = {
    "unknown mode": {"permission_mode": "whatever"},
    "no turns": {"max_turns": 0},
    "plugin that is not local": {"plugins": [{"type": "git", "path": "/p"}]},
    "unknown output format": {"output_format": {"type": "xml"}},
    "agent as a dictionary": {"agents": {"a": {"description": "d"}}},
    "hook that cannot be called": {"hooks": {"PreToolUse": [HookMatcher(hooks=["text"])]}},  # type: ignore[list-item]
    "hook without a matcher": {"hooks": {"PreToolUse": ["text"]}},
    "callback that cannot be called": {"can_use_tool": "text"},
    "settings that cannot be read": {"settings": "/no/such/file", "sandbox": {"enabled": True}},
    "something else as a store": {"session_store": object()},
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
async def test_wrong_option_is_an_error_of_both_trees(case: str):
    with pytest.raises(ClaudeSDKError) as error:
        await collect(prompt="go", options=ClaudeAgentOptions(**WRONG_OPTIONS[case]))
    assert isinstance(error.value, handrail.OptionsError)
    assert isinstance(error.value, ValueError)


async def test_prompt_of_another_type_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def wrong() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "assistant"}

    script = """
        try:
            hear()
        except SystemExit:
            raise SystemExit(0)
    """
    assert await collect(prompt=wrong(), options=scripted(tmp_path, script)) == []
    assert 'a prompt is a dictionary with "type": "user"' in caplog.text


async def test_blocking_hook_needs_a_cli_that_supports_it(tmp_path: Path):
    async def hook(*_: Any) -> Any:
        return {}

    hooks: Any = {"PreToolUse": [HookMatcher(hooks=[hook], on_failure="block")]}
    with pytest.raises(CLIConnectionError, match="on_failure"):
        await collect(prompt="go", options=scripted(tmp_path, "", hooks=hooks))
