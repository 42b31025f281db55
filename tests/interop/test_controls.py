"""Control requests: changing model and mode during a turn, information, rewinding files, refusals."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from handrail import ControlRefused, InitMessage, PermissionRequest, RewindRefused, UserMessage
from handrail.schema.system_messages import SessionTitleChangedMessage, StatusMessage
from handrail.testing import Lab, When, hang, reply, text, tool_use
from tests.interop.scenario import Model, Talk, bash, of

OTHER = "claude-haiku-4-5"


def write(lab: Lab, name: str, content: str = "new") -> Any:
    """A call of Write for a file in the project."""
    return tool_use("Write", file_path=str(lab.project / name), content=content)


async def test_model_is_changed_during_a_turn_and_back(model: Model, talk: Talk):
    api = model([text("wait"), hang(), bash("ls")], text("end"), text("later"))
    async with talk(api) as session:
        turn = await session.send("go")
        await api.hanging()
        answer = await session.set_model(OTHER)
        api.release()
        await turn
        await session.set_model(None)
        await session.ask("again")
    usual, changed, back = (request.body["model"] for request in api.main_requests)
    assert changed.startswith(OTHER)
    assert answer.model.startswith(OTHER)
    assert back == usual
    assert not usual.startswith(OTHER)


async def test_mode_is_changed_during_a_turn(model: Model, talk: Talk, lab: Lab):
    asked: list[str] = []

    def decide(request: PermissionRequest) -> bool:
        asked.append(request.tool_name)
        return True

    api = model([text("wait"), hang(), write(lab, "a.txt")], text("end"), write(lab, "b.txt"), text("end"))
    async with talk(api, can_use_tool=decide) as session:
        turn = await session.send("go")
        await api.hanging()
        assert (await session.set_permission_mode("acceptEdits")).mode == "acceptEdits"
        api.release()
        messages = [message async for message in turn]
        assert asked == []
        await session.set_permission_mode("default")
        second = [message async for message in await session.send("again")]
    assert asked == ["Write"]
    assert [message.permission_mode for message in of(StatusMessage, messages)] == ["acceptEdits"]
    assert of(InitMessage, second)[0].permission_mode == "default"
    assert (lab.project / "b.txt").exists()


async def test_unavailable_mode_is_refused_with_its_code(model: Model, talk: Talk):
    async with talk(model(text("fine"))) as session:
        with pytest.raises(ControlRefused) as nonsense:
            await session.set_permission_mode("nonsense")
        with pytest.raises(ControlRefused) as bypass:
            await session.set_permission_mode("bypassPermissions")
        assert (await session.ask("still there?")).text == "fine"
    assert (nonsense.value.code, bypass.value.code) == ("invalid_mode", "bypass_not_launched")


async def test_an_unknown_request_is_refused_with_its_code(model: Model, talk: Talk):
    async with talk(model()) as session:
        with pytest.raises(ControlRefused, match="totally_unknown") as caught:
            await session.control("totally_unknown", colour="red")
    assert (caught.value.subtype, caught.value.code) == ("totally_unknown", "unsupported_request")


async def test_context_usage_is_reported(model: Model, talk: Talk):
    async with talk(model(text("hi"))) as session:
        await session.ask("hello")
        usage = await session.get_context_usage()
    assert usage.categories
    assert 0 < usage.total_tokens < usage.max_tokens
    assert usage.model


async def test_version_cost_models_and_settings_are_reported(model: Model, talk: Talk):
    async with talk(model(text("hi")), settings={"cleanupPeriodDays": 99}) as session:
        await session.ask("hello")
        version, cost = await session.get_binary_version(), await session.get_session_cost()
        models, settings = await session.list_models(), await session.get_settings()
        rules = await session.list_permission_rules()
    assert session.info is not None
    assert version.version == session.info.claude_code_version
    assert "$" in cost.text
    assert models.models
    assert settings.effective["cleanupPeriodDays"] == 99
    assert rules.state is not None


async def test_files_are_read_and_found_where_the_cli_runs(model: Model, talk: Talk, lab: Lab):
    (lab.project / "notes.txt").write_text("remember the milk")
    async with talk(model()) as session:
        answer = await session.read_file("notes.txt")
        while not (found := await session.file_suggestions("notes")).suggestions:
            pass  # the CLI is still looking through the folder
        with pytest.raises(ControlRefused):
            await session.read_file("missing.txt")
    assert (answer.contents, answer.abs_path) == ("remember the milk", str(lab.project / "notes.txt"))
    assert "notes.txt" in json.dumps(found.suggestions)


async def test_side_question_is_not_part_of_the_conversation(model: Model, talk: Talk):
    aside = reply(text("An aside."), when=When(prompt="what time is it?"))
    api = model(text("one"), aside, text("two"))
    async with talk(api) as session:
        await session.ask("hello")
        answer = await session.side_question("what time is it?")
        await session.ask("go on")
    assert answer.response is not None
    assert "An aside." in answer.response
    assert "what time is it?" not in json.dumps(api.main_requests[-1].messages)


async def test_a_session_is_renamed(model: Model, talk: Talk):
    async with talk(model(text("hi"))) as session:
        await session.ask("hello")
        reader = session.messages()
        await session.rename_session("A fine day")
        title = await anext(reader)
        while not isinstance(title, SessionTitleChangedMessage):
            title = await anext(reader)
    assert title.title == "A fine day"


async def test_rewind_restores_files(model: Model, talk: Talk, lab: Lab):
    old, new = lab.project / "old.txt", lab.project / "new.txt"
    old.write_text("before\n")
    calls = [tool_use("Read", file_path=str(old)), write(lab, "old.txt", "after\n"), write(lab, "new.txt")]
    api = model(*calls, text("done"), text("and more"))
    async with talk(api, enable_file_checkpointing=True, permission_mode="acceptEdits") as session:
        turn = await session.send("change it")
        await turn
        await session.ask("anything else?")
        assert (old.read_text(), new.exists()) == ("after\n", True)
        planned = await session.rewind_files(turn.uuid, dry_run=True)
        assert old.read_text() == "after\n"
        done = await session.rewind_files(turn.uuid)
        with pytest.raises(RewindRefused) as caught:
            await session.rewind_files(str(uuid4()))
    assert sorted(planned.files_changed) == sorted([str(old), str(new)])
    assert (planned.can_rewind, done.can_rewind) == (True, True)
    assert (old.read_text(), new.exists()) == ("before\n", False)
    assert "checkpoint" in caught.value.error


async def test_rewind_needs_checkpoints(model: Model, talk: Talk):
    async with talk(model(text("hi"))) as session:
        turn = await session.send("hello")
        await turn
        with pytest.raises(RewindRefused, match="not enabled"):
            await session.rewind_files(turn.uuid)


async def test_prompts_are_echoed_on_request(model: Model, talk: Talk):
    async with talk(model(text("hi")), replay_user_messages=True) as session:
        turn = await session.send("hello")
        messages = [message async for message in turn]
    (echo,) = of(UserMessage, messages)
    assert (echo.text, echo.is_replay, echo.uuid) == ("hello", True, turn.uuid)


async def test_effort_is_changed_for_the_next_request(model: Model, talk: Talk):
    """The bridge's `set_effort` takes effect in the next request of the real CLI."""
    api = model(text("one"), text("two"), text("three"))
    async with talk(api, model="opus") as session:
        await session.ask("go")
        await session.apply_flag_settings({"effortLevel": "low"})
        await session.ask("again")
        await session.apply_flag_settings({"effortLevel": "high"})
        await session.ask("and again")
    sent = [(request.body.get("output_config") or {}).get("effort") for request in api.main_requests]
    assert sent[1:] == ["low", "high"], sent
