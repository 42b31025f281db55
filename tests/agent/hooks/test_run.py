from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.agent.hooks.base import HookResult
from handrail.agent.hooks.run import TIMED_OUT, Hooks
from handrail.settings.merge import HookEntry

JsonObject = dict[str, Any]
BASH = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
IN_BACKGROUND: JsonObject = {"async": True}
ENVIRONMENT = {"PATH": os.environ["PATH"]}


class Host:
    """Answers callbacks by their ids; notes what it was asked and what was taken back."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked, self.taken_back = answers, list[tuple[str, JsonObject, str | None]](), list[str]()
        self.came = asyncio.Event()

    async def send(self, callback: str, input: JsonObject, tool_use_id: str | None) -> Any:
        self.asked.append((callback, input, tool_use_id))
        self.came.set()
        answer = self.answers.get(callback, {})
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, asyncio.Event):
            try:
                await answer.wait()
            except asyncio.CancelledError:
                self.taken_back.append(callback)
                raise
            return {}
        return answer


def registered(event: str = "PreToolUse", *ids: str, **more: Any) -> JsonObject:
    return {event: [{"hookCallbackIds": list(ids), **more}]}


def command(
    text: str, event: str = "PreToolUse", matcher: str = "", scope: Any = "userSettings", **more: Any
) -> HookEntry:
    return HookEntry(event, matcher, {"type": "command", "command": text, **more}, scope, "settings.json", 1)


def hooks_of(
    host: Host | None = None, callbacks: Any = None, *commands: HookEntry, cwd: Any = "/", **more: Any
) -> Hooks:
    given: dict[str, Any] = {"environment": ENVIRONMENT, **more}
    return Hooks(callbacks, commands, send=(host or Host()).send, cwd=str(cwd), **given)


def pre(**fields: Any) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


async def test_callbacks_run_at_once_and_the_strictest_applies():
    meet = asyncio.Barrier(2)

    class Both(Host):
        async def send(self, callback: str, input: JsonObject, tool_use_id: str | None) -> Any:
            async with asyncio.timeout(5):
                await meet.wait()
            return await super().send(callback, input, tool_use_id)

    host = Both(a=pre(permissionDecision="allow"), b=pre(permissionDecision="deny", permissionDecisionReason="no"))
    result = await hooks_of(host, registered("PreToolUse", "a", "b")).run("PreToolUse", BASH, tool_use_id="t1")
    assert result == HookResult(decision="deny", reason="no")
    assert sorted(host.asked, key=lambda asked: asked[0]) == [
        ("a", {**BASH, "hook_event_name": "PreToolUse"}, "t1"),
        ("b", {**BASH, "hook_event_name": "PreToolUse"}, "t1"),
    ]


async def test_only_matching_hooks_run():
    host = Host()
    hooks = hooks_of(host, {**registered("PreToolUse", "a", matcher="Write"), **registered("Stop", "b")})
    assert await hooks.run("PreToolUse", BASH) == HookResult()
    assert await hooks.run("PreToolUse", BASH, matches="Write") == HookResult()
    assert [callback for callback, _, _ in host.asked] == ["a"]
    assert hooks.has("Stop")
    assert not hooks.has("SessionEnd")


@pytest.mark.parametrize("answer", [RuntimeError("crashed"), [1], {"continue": "x"}])
async def test_a_failed_callback_decides_nothing_and_is_reported(answer: Any):
    result = await hooks_of(Host(a=answer), registered("Stop", "a")).run("Stop", {})
    (failure,) = result.failures
    assert failure.startswith("Stop: Hook callback a failed")
    assert result == HookResult(failures=(failure,))


async def test_a_tool_does_not_run_if_its_callback_times_out():
    host = Host(a=asyncio.Event())
    result = await hooks_of(host, registered("PreToolUse", "a", timeout=0.02)).run("PreToolUse", BASH)
    assert result == HookResult(decision="deny", reason=TIMED_OUT, no_verdict=True)
    assert host.taken_back == ["a"]


async def test_other_events_continue_after_a_timeout():
    host = Host(a=asyncio.Event())
    result = await hooks_of(host, registered("Stop", "a", timeout=0.02)).run("Stop", {})
    assert (result.decision, result.no_verdict, len(result.failures)) == (None, True, 1)


async def test_a_cancelled_run_withdraws_its_callbacks():
    host = Host(a=asyncio.Event())
    task = asyncio.create_task(hooks_of(host, registered("Stop", "a")).run("Stop", {}))
    async with asyncio.timeout(5):
        await host.came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert host.taken_back == ["a"]


async def test_a_command_blocks_with_exit_code_2():
    result = await hooks_of(None, None, command("echo nope >&2; exit 2", matcher="Bash")).run("PreToolUse", BASH)
    assert (result.decision, result.reason) == ("deny", "[echo nope >&2; exit 2]: nope\n")


async def test_a_command_gets_the_event_and_the_project_but_no_keys(tmp_path: Path):
    text = 'cat > told; env > variables; pwd > where; echo \'{"systemMessage": "hi"}\''
    keys = {"ANTHROPIC_API_KEY": "sk-ant-1", "ANTHROPIC_AUTH_TOKEN": "x", "MINE": "kept"}
    hooks = hooks_of(None, None, command(text), cwd=tmp_path, environment={**ENVIRONMENT, **keys})
    given = {"tool_name": "Bash", "tool_input": {"command": "$(touch pwned); `touch pwned`"}}
    assert await hooks.run("PreToolUse", given) == HookResult(system_messages=("hi",))
    assert msgspec.json.decode((tmp_path / "told").read_text()) == {**given, "hook_event_name": "PreToolUse"}
    variables = (tmp_path / "variables").read_text()
    assert f"CLAUDE_PROJECT_DIR={tmp_path}" in variables
    assert "MINE=kept" in variables
    assert "ANTHROPIC" not in variables
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)
    assert not (tmp_path / "pwned").exists()


async def test_the_same_command_runs_once(tmp_path: Path):
    both = (command("echo x >> ran", matcher="Bash"), command("echo x >> ran"))
    await hooks_of(None, None, *both, cwd=tmp_path).run("PreToolUse", BASH)
    assert (tmp_path / "ran").read_text() == "x\n"


async def test_a_command_may_read_nothing_and_print_much():
    noisy = command("head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2", "UserPromptSubmit")
    result = await hooks_of(None, None, noisy).run("UserPromptSubmit", {"prompt": "x" * 1_000_000})
    assert (len(result.additional_context), result.failures) == (1, ())
    assert len(result.additional_context[0]) <= 100_000


def gone(pid: int) -> bool:
    """Whether a process has ended; the kernel is given a moment to end one that was killed."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 5)[0])
    finally:
        os.close(handle)


async def test_at_its_limit_a_command_is_killed_with_its_children_and_blocks_nothing(tmp_path: Path):
    slow = command("sleep 600 & echo $! > child; echo $$ > self; wait", timeout=0.3)
    result = await hooks_of(None, None, slow, cwd=tmp_path).run("PreToolUse", BASH)
    (text,) = result.killed
    assert text.endswith("was killed after 0.3 seconds")
    assert result == HookResult(killed=(text,))
    assert all(gone(int((tmp_path / name).read_text())) for name in ("child", "self"))


async def test_a_cancelled_command_leaves_no_process_behind(tmp_path: Path):
    os.mkfifo(tmp_path / "ready")
    slow = command("setsid sleep 600 & echo $! > child; echo $$ > self; echo > ready; wait")
    ready = os.open(tmp_path / "ready", os.O_RDONLY | os.O_NONBLOCK)
    seen = asyncio.Event()
    asyncio.get_running_loop().add_reader(ready, seen.set)
    task = asyncio.create_task(hooks_of(None, None, slow, cwd=tmp_path).run("PreToolUse", BASH))
    async with asyncio.timeout(30):
        await seen.wait()
        asyncio.get_running_loop().remove_reader(ready)
        os.close(ready)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert all(gone(int((tmp_path / name).read_text())) for name in ("child", "self"))


async def test_a_background_child_of_a_command_does_not_delay_the_turn():
    async with asyncio.timeout(10):
        result = await hooks_of(None, None, command("sleep 600 & exit 0")).run("PreToolUse", BASH)
    assert result == HookResult()


async def test_a_command_of_an_untrusted_folder_does_not_run(tmp_path: Path):
    for scope in ("projectSettings", "localSettings"):
        hooks = hooks_of(None, None, command("touch ran", scope=scope), cwd=tmp_path, trusted=False)
        assert await hooks.run("PreToolUse", BASH) == HookResult()
    assert not (tmp_path / "ran").exists()


async def test_a_command_without_its_folder_is_a_failure():
    result = await hooks_of(None, None, command("true"), cwd="/no/such/folder").run("PreToolUse", BASH)
    assert "could not be started" in result.failures[0]


@pytest.mark.parametrize(
    ("event", "everything", "told"), [("SessionStart", False, 2), ("Stop", False, 0), ("Stop", True, 2)]
)
async def test_commands_are_reported_on_request(event: str, *, everything: bool, told: int):
    reports: list[JsonObject] = []

    async def report(message: JsonObject) -> None:
        reports.append(message)

    hooks = hooks_of(None, None, command("echo out; echo err >&2", event), report=report, report_all=everything)
    await hooks.run(event, {"source": "startup"})
    assert len(reports) == told
    if told:
        started, response = reports
        assert started["subtype"] == "hook_started"
        assert started["hook_id"] == response["hook_id"]
        words = ("hook_event", "stdout", "stderr", "exit_code", "outcome")
        assert tuple(response[word] for word in words) == (event, "out\n", "err\n", 0, "success")


async def test_a_background_command_is_not_awaited_and_ends_with_the_session(tmp_path: Path):
    os.mkfifo(tmp_path / "ready")
    background = command("echo $$ > self; echo > ready; sleep 600", **IN_BACKGROUND)
    hooks = hooks_of(None, None, background, cwd=tmp_path)
    async with asyncio.timeout(10):
        assert (await hooks.run("PreToolUse", BASH)).is_async
        await asyncio.to_thread((tmp_path / "ready").read_text)
        await hooks.close()
    assert gone(int((tmp_path / "self").read_text()))


def test_all_hooks_are_listed():
    hooks = hooks_of(None, registered("Stop", "a"), command("true", matcher="Bash"))
    assert hooks.listing() == {
        "Stop": [{"matcher": "", "type": "callback", "timeout": 60.0}],
        "PreToolUse": [{"matcher": "Bash", "type": "command", "command": "true", "timeout": 600.0}],
    }


async def test_a_command_with_arguments_runs_without_a_shell(tmp_path: Path):
    (tmp_path / "say").write_text('#!/bin/sh\nprintf "<%s>" "$@" > said\n')
    (tmp_path / "say").chmod(0o700)
    hook = command(str(tmp_path / "say"), args=["$HOME", "a b", "; touch pwned"])
    assert await hooks_of(None, None, hook, cwd=tmp_path).run("PreToolUse", BASH) == HookResult()
    assert (tmp_path / "said").read_text() == "<$HOME><a b><; touch pwned>"
    assert not (tmp_path / "pwned").exists()


async def test_a_limit_of_the_caller_replaces_that_of_the_hook():
    result = await hooks_of(None, None, command("sleep 600", "SessionEnd")).run("SessionEnd", {}, limit=0.1)
    assert result.killed[0].endswith("was killed after 0.1 seconds")


async def test_callbacks_are_left_out_where_the_host_cannot_answer(tmp_path: Path):
    host = Host()
    hooks = hooks_of(host, registered("SessionEnd", "a"), command("touch ran", "SessionEnd"), cwd=tmp_path)
    await hooks.run("SessionEnd", {}, callbacks=False)
    assert not host.asked
    assert (tmp_path / "ran").exists()


def test_each_hook_that_cannot_run_is_reported_once():
    warnings: list[str] = []
    wrong = command("true", "Nonsense")
    hooks = hooks_of(None, registered("Setup", "a"), wrong, warn=warnings.append)
    hooks.use_commands([wrong])
    hooks.register(registered("Setup", "a"))
    assert len(warnings) == 2
    assert "'Nonsense' is not a hook event" in warnings[1]


async def test_variables_of_the_project_are_exported_after_the_folder_changed(tmp_path: Path):
    hook = command("echo 'export PLACE=here' >> \"$CLAUDE_ENV_FILE\"", "CwdChanged")
    result = await hooks_of(None, None, hook, cwd=tmp_path).run("CwdChanged", {"new_cwd": str(tmp_path)})
    assert result.environment == {"PLACE": "here"}


async def test_matchers_are_ignored_for_events_without_a_name():
    host = Host()
    await hooks_of(host, registered("Stop", "a", matcher="Bash")).run("Stop", {})
    assert [callback for callback, _, _ in host.asked] == ["a"]
