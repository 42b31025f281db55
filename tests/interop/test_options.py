"""Options that change the requests to the model or the permissions of the CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail import InitMessage
from handrail.schema.activity_messages import HookResponseMessage
from handrail.schema.system_messages import PermissionDeniedMessage, SessionStateChangedMessage
from handrail.testing import Lab, text, tool_use
from handrail.transcripts import list_sessions
from tests.interop.scenario import Model, Talk, bash, everything_sent, of, results_sent, system_prompt

SMALL = "claude-haiku-4-5"


async def body_with(options: dict[str, Any], model: Model, talk: Talk) -> dict[str, Any]:
    """The body of the first request of a session with these options."""
    api = model(text("ok"))
    async with talk(api, **options) as session:
        assert (await session.ask("hi")).text == "ok"
    return api.main_requests[0].body


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"effort": "low"}, {"output_config": {"effort": "low"}}),
        ({"task_budget": 50_000}, {"output_config": {"task_budget": {"type": "tokens", "total": 50_000}}}),
        ({"thinking": "disabled", "model": SMALL}, {"thinking": {"type": "disabled"}}),
        ({"max_thinking_tokens": 2000, "model": SMALL}, {"thinking": {"budget_tokens": 2000}}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 3000}, "model": SMALL},
            {"thinking": {"budget_tokens": 3000}},
        ),
        ({"thinking_display": "summarized"}, {"thinking": {"display": "summarized"}}),
    ],
    ids=["effort", "task_budget", "thinking off", "max_thinking_tokens", "thinking budget", "thinking_display"],
)
async def test_options_change_the_model_request(
    options: dict[str, Any], expected: dict[str, Any], model: Model, talk: Talk
):
    body = await body_with(options, model, talk)
    assert {name: {key: body[name][key] for key in part} for name, part in expected.items()} == expected


@pytest.mark.parametrize("kind", ["text", "list", "file"])
async def test_system_prompt_replaces_the_default(kind: str, model: Model, talk: Talk, lab: Lab):
    path = lab.project / "prompt.txt"
    path.write_text("Be kind.")
    given = {"text": "Be kind.", "list": ["Be kind."], "file": {"type": "file", "path": path}}[kind]
    api = model(text("ok"))
    async with talk(api, system_prompt=given) as session:
        await session.ask("hi")
    assert system_prompt(api.main_requests[0]).endswith("Be kind.")
    assert len(system_prompt(api.main_requests[0])) < 300


async def test_only_listed_tools_are_offered(model: Model, talk: Talk):
    api = model(text("ok"))
    async with talk(api, tools=["Bash", "Read"], betas=["context-1m-2025-08-07"]) as session:
        messages = [message async for message in await session.send("hi")]
    assert of(InitMessage, messages)[0].tools == ["Bash", "Read"]
    assert {tool["name"] for tool in api.main_requests[0].body["tools"]}.isdisjoint({"Write", "Edit", "Agent"})
    assert "context-1m-2025-08-07" in api.main_requests[0].headers["anthropic-beta"]


async def test_tool_alias_is_accepted(model: Model, talk: Talk):
    api = model(tool_use("Shell", command="echo hi"), text("ok"))
    async with talk(api, tool_aliases={"Shell": "Bash"}) as session:
        await session.ask("go")
    assert results_sent(api.main_requests[1]) == ["hi"]


@pytest.mark.parametrize("sources", [[], ["project"]], ids=["left out", "read"])
async def test_project_files_are_read_only_if_enabled(sources: list[str], model: Model, talk: Talk, lab: Lab):
    (lab.project / "CLAUDE.md").write_text("Always answer in rhyme.")
    body = await body_with({"setting_sources": sources}, model, talk)
    assert ("Always answer in rhyme." in json.dumps(body)) is bool(sources)


async def test_settings_hold_rules_and_hooks(model: Model, talk: Talk, lab: Lab):
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo from the settings"}]}
    settings = {"permissions": {"allow": ["Bash(touch *)"]}, "hooks": {"PreToolUse": [hook]}}
    async with talk(model(bash("touch a.txt"), text("ok")), settings=settings, include_hook_events=True) as session:
        messages = [message async for message in await session.send("go")]
    assert (lab.project / "a.txt").exists()
    assert [event.stdout.strip() for event in of(HookResponseMessage, messages)] == ["from the settings"]


async def test_policy_applies_in_bypass_mode(model: Model, talk: Talk, lab: Lab):
    policy = {"permissions": {"deny": ["Bash(touch *)"]}}
    api = model(bash("touch a.txt"), text("ok"))
    async with talk(api, managed_settings=policy, dangerously_skip_permissions=True) as session:
        messages = [message async for message in await session.send("go")]
    assert [denied.tool_name for denied in of(PermissionDeniedMessage, messages)] == ["Bash"]
    assert not (lab.project / "a.txt").exists()


async def test_bypass_mode_asks_no_questions(model: Model, talk: Talk, lab: Lab):
    async with talk(model(bash("touch a.txt"), text("ok")), dangerously_skip_permissions=True) as session:
        messages = [message async for message in await session.send("go")]
    assert of(InitMessage, messages)[0].permission_mode == "bypassPermissions"
    assert (lab.project / "a.txt").exists()


async def test_additional_folders_are_allowed(model: Model, talk: Talk, lab: Lab):
    (lab.outside / "note.txt").write_text("from outside")
    api = model(tool_use("Read", file_path=str(lab.outside / "note.txt")), text("ok"))
    async with talk(api, add_dirs=[lab.outside]) as session:
        messages = [message async for message in await session.send("go")]
    assert of(InitMessage, messages)[0].additional_directories == [str(lab.outside)]
    assert "from outside" in results_sent(api.main_requests[1])[0]


async def test_agent_replaces_the_main_agent(model: Model, talk: Talk):
    agents = {"reviewer": {"description": "Reviews", "prompt": "You review code."}}
    body = await body_with({"agents": agents, "agent": "reviewer"}, model, talk)
    assert "You review code." in json.dumps(body["system"])


async def test_prompts_can_be_sent_verbatim(model: Model, talk: Talk, lab: Lab):
    (lab.project / "note.txt").write_text("inside the note")
    plain, verbatim = model(text("ok")), model(text("ok"))
    for api, exact in ((plain, False), (verbatim, True)):
        async with talk(api, verbatim_prompts=exact) as session:
            await session.ask("look at @note.txt")
    assert "inside the note" in everything_sent(plain.main_requests[0])
    assert "inside the note" not in everything_sent(verbatim.main_requests[0])


async def test_session_state_events_can_be_enabled(model: Model, talk: Talk, lab: Lab):
    async with talk(model(text("ok")), session_state_events=True, title="A fine day") as session:
        reader = session.messages()
        await session.ask("hi")
        states: list[str] = []
        async for message in reader:
            if isinstance(message, SessionStateChangedMessage):
                states.append(message.state)
            if states[-1:] == ["idle"]:
                break
    assert states == ["running", "idle"]
    assert [one.title for one in list_sessions(lab.project, config_home=lab.home / ".claude")] == ["A fine day"]


async def test_slash_commands_skills_and_plugins_are_chosen(model: Model, talk: Talk, lab: Lab):
    plugin = lab.project / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "garden", "version": "1.0.0"}')
    options = {"plugins": [{"type": "local", "path": plugin}], "disable_slash_commands": True}
    async with talk(model(text("ok")), debug_file=lab.root / "debug.log", **options) as session:
        messages = [message async for message in await session.send("hi")]
    (info,) = of(InitMessage, messages)
    assert "garden" in {one.name for one in info.plugins}
    assert info.slash_commands == []
    assert (lab.root / "debug.log").stat().st_size > 0
