"""The permission callback: its arguments and the effects of its answers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from typing import Any

import pytest

from handrail import (
    Allow,
    Deny,
    Disconnected,
    PermissionRequest,
    PermissionRuleValue,
    PermissionUpdate,
    Session,
    TurnFailed,
)
from handrail.schema.system_messages import PermissionDeniedMessage, StatusMessage
from handrail.testing import Endpoint, Lab, text, tool_use
from tests.interop.scenario import Model, Talk, bash, of, results_seen, results_sent


def touch(model: Model, *names: str) -> Endpoint:
    """A model that creates these files one after the other."""
    return model(*(bash(f"touch {name}") for name in names), text("done"))


async def test_allowed_tool_runs_with_its_original_input(model: Model, talk: Talk, lab: Lab):
    asked: list[PermissionRequest] = []

    async def decide(request: PermissionRequest) -> Allow:
        asked.append(request)
        return Allow()

    api = touch(model, "made.txt")
    async with talk(api, can_use_tool=decide) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    (request,) = asked
    assert (request.tool_name, request.input["command"]) == ("Bash", "touch made.txt")
    assert request.tool_use_id == results_seen(messages)[0].tool_use_id
    assert {suggestion.type for suggestion in request.suggestions} >= {"addRules"}
    assert not request.cancelled.is_set()
    assert (lab.project / "made.txt").exists()
    assert turn.result.permission_denials == []
    assert len(results_sent(api.main_requests[1])) == 1


async def test_denied_tool_does_not_run_and_the_model_gets_the_reason(model: Model, talk: Talk, lab: Lab):
    api = touch(model, "made.txt")
    async with talk(api, can_use_tool=lambda request: Deny("not on a Sunday")) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    (result,) = results_seen(messages)
    assert (result.is_error, result.text) == (True, "not on a Sunday")
    assert [denial.tool_name for denial in turn.result.permission_denials] == ["Bash"]
    assert (turn.result.text, turn.result.is_error) == ("done", False)
    assert results_sent(api.main_requests[1]) == ["not on a Sunday"]
    assert not (lab.project / "made.txt").exists()


async def test_a_denial_with_interrupt_ends_the_turn(model: Model, talk: Talk, lab: Lab):
    async def decide(request: PermissionRequest) -> Deny:
        return Deny("stop it", interrupt=True)

    api = model(bash("touch made.txt"), text("next"))
    async with talk(api, can_use_tool=decide) as session:
        result = await (await session.send("go"))
        assert (result.is_error, result.reason) == (True, "aborted_tools")
        with pytest.raises(TurnFailed, match="aborted_tools"):
            result.raise_for_error()
        assert len(api.main_requests) == 1
        assert (await session.ask("still there?")).text == "next"
    assert not (lab.project / "made.txt").exists()


async def test_tool_runs_with_the_updated_input(model: Model, talk: Talk, lab: Lab):
    async def decide(request: PermissionRequest) -> Allow:
        return Allow(input={**request.input, "command": "touch other.txt; echo EDITED"})

    api = touch(model, "made.txt")
    async with talk(api, can_use_tool=decide) as session:
        await session.ask("go")
    assert results_sent(api.main_requests[1]) == ["EDITED"]
    assert not (lab.project / "made.txt").exists()
    assert (lab.project / "other.txt").exists()


async def test_session_rule_makes_later_questions_unnecessary(model: Model, talk: Talk, lab: Lab):
    asked: list[str] = []
    rule = PermissionRuleValue(tool_name="Bash", rule_content="touch *")

    async def decide(request: PermissionRequest) -> Allow:
        asked.append(request.input["command"])
        return Allow(updates=[PermissionUpdate(type="addRules", rules=[rule], destination="session")])

    async with talk(touch(model, "a.txt", "b.txt"), can_use_tool=decide) as session:
        await session.ask("go")
    assert asked == ["touch a.txt"]
    assert (lab.project / "b.txt").exists()
    assert not (lab.project / ".claude").exists()


async def test_returned_suggestion_is_written_to_the_local_settings(model: Model, talk: Talk, lab: Lab):
    async def decide(request: PermissionRequest) -> Allow:
        local = [update for update in request.suggestions if getattr(update, "destination", "") == "localSettings"]
        return Allow(updates=local)  # type: ignore[arg-type]

    async with talk(touch(model, "a.txt"), can_use_tool=decide) as session:
        await session.ask("go")
    settings = json.loads((lab.project / ".claude" / "settings.local.json").read_text())
    assert settings["permissions"]["allow"] == ["Bash(touch a.txt)"]


async def test_mode_update_takes_effect_at_once(model: Model, talk: Talk, lab: Lab):
    asked: list[str] = []

    async def decide(request: PermissionRequest) -> Allow:
        asked.append(request.tool_name)
        return Allow(updates=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}])

    paths = [lab.project / "a.txt", lab.project / "b.txt"]
    api = model(*(tool_use("Write", file_path=str(path), content="x") for path in paths), text("done"))
    async with talk(api, can_use_tool=decide) as session:
        messages = [message async for message in await session.send("go")]
    assert asked == ["Write"]
    assert [path.read_text() for path in paths] == ["x", "x"]
    assert "acceptEdits" in {message.permission_mode for message in of(StatusMessage, messages)}


async def test_three_questions_can_be_pending(model: Model, talk: Talk, lab: Lab):
    together = asyncio.Barrier(3)
    names = ["a.txt", "b.txt", "c.txt"]
    for name in names:
        (lab.outside / name).write_text(f"this is {name}")

    async def decide(request: PermissionRequest) -> Allow | Deny:
        await together.wait()
        return Deny("not this one") if request.input["file_path"].endswith("b.txt") else Allow()

    api = model([tool_use("Read", file_path=str(lab.outside / name)) for name in names], text("done"))
    async with talk(api, can_use_tool=decide) as session:
        turn = await session.send("read them")
        await turn
    read = sorted(result.partition("this is ")[2] or result for result in results_sent(api.main_requests[1]))
    assert read == ["a.txt", "c.txt", "not this one"]
    assert len(turn.result.permission_denials) == 1


async def test_a_question_is_withdrawn_when_the_turn_is_interrupted(model: Model, talk: Talk, lab: Lab):
    asked: asyncio.Future[PermissionRequest] = asyncio.get_running_loop().create_future()
    cancelled = asyncio.Event()

    async def decide(request: PermissionRequest) -> Any:
        asked.set_result(request)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with talk(model(bash("touch made.txt"), text("fine")), can_use_tool=decide) as session:
        turn = await session.send("go")
        request = await asked
        await session.interrupt()
        await cancelled.wait()
        assert request.cancelled.is_set()
        assert (await turn).reason == "aborted_tools"
        assert (await session.ask("again")).text == "fine"
    assert not (lab.project / "made.txt").exists()


async def test_sync_callback_runs_in_a_thread_and_sees_the_withdrawal(model: Model, talk: Talk):
    asked, let_go = asyncio.Event(), threading.Event()
    loop, seen = asyncio.get_running_loop(), []

    def decide(request: PermissionRequest) -> Allow:
        loop.call_soon_threadsafe(asked.set)
        let_go.wait(30)
        seen.append((threading.current_thread() is threading.main_thread(), request.cancelled.is_set()))
        return Allow()

    async with talk(model(bash("touch made.txt"), text("fine")), can_use_tool=decide) as session:
        turn = await session.send("go")
        await asked.wait()
        await session.interrupt()
        assert (await turn).reason == "aborted_tools"
        let_go.set()
        assert (await session.ask("again")).text == "fine"
    assert seen == [(False, True)]


async def test_failing_callback_denies_the_tool(model: Model, talk: Talk, lab: Lab):
    async def decide(request: PermissionRequest) -> Allow:
        raise LookupError("no idea")

    api = touch(model, "made.txt")
    async with talk(api, can_use_tool=decide) as session:
        assert (await session.ask("go")).text == "done"
    assert "no idea" in results_sent(api.main_requests[1])[0]
    assert not (lab.project / "made.txt").exists()


async def test_cli_denies_without_a_callback(model: Model, talk: Talk, lab: Lab):
    async with talk(touch(model, "made.txt")) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    (denied,) = of(PermissionDeniedMessage, messages)
    assert denied.tool_name == "Bash"
    assert [denial.tool_name for denial in turn.result.permission_denials] == ["Bash"]
    assert not (lab.project / "made.txt").exists()


async def test_allowed_and_disallowed_tools_are_rules(model: Model, talk: Talk, lab: Lab):
    def decide(request: PermissionRequest) -> Allow:
        raise AssertionError("nothing was to be asked")

    api = model(bash("touch a.txt"), bash("rm a.txt"), text("done"))
    rules = {"allowed_tools": ["Bash(touch *)"], "disallowed_tools": ["Bash(rm *)", "WebFetch"]}
    async with talk(api, can_use_tool=decide, **rules) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    assert [result.is_error for result in results_seen(messages)] == [False, True]
    assert (lab.project / "a.txt").exists()
    assert "WebFetch" not in {tool["name"] for tool in api.main_requests[0].body["tools"]}


async def test_callback_may_use_its_session(model: Model, talk: Talk, lab: Lab):
    sessions: list[Session] = []

    async def decide(request: PermissionRequest) -> Allow:
        if request.input["command"] == "touch a.txt":
            assert (await sessions[0].get_binary_version()).version
            return Allow()
        await sessions[0].interrupt()
        return Allow()

    api = model(bash("touch a.txt"), bash("touch b.txt"), text("fine"))
    async with talk(api, can_use_tool=decide) as session:
        sessions.append(session)
        assert (await (await session.send("go"))).reason == "aborted_tools"
        assert (await session.ask("again")).text == "fine"
    assert ((lab.project / "a.txt").exists(), (lab.project / "b.txt").exists()) == (True, False)


async def test_question_is_withdrawn_when_the_cli_is_killed(model: Model, talk: Talk):
    asked: asyncio.Future[PermissionRequest] = asyncio.get_running_loop().create_future()

    async def decide(request: PermissionRequest) -> Any:
        asked.set_result(request)
        await asyncio.Event().wait()

    async with talk(model(bash("touch made.txt")), can_use_tool=decide) as session:
        turn = await session.send("go")
        request = await asked
        os.kill(session.pid or 0, signal.SIGKILL)
        with pytest.raises(Disconnected):
            await turn
        assert request.cancelled.is_set()
