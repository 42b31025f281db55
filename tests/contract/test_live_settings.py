"""Settings changed while a session runs: the next request to the Messages API carries them.

The values that are acknowledged without an effect are those that the CLI acknowledges.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from handrail import ControlRefused, Session
from handrail.testing import Endpoint, Lab, text, tool_use
from tests.contract.conftest import SONNET, TalkToApi

HAIKU = "claude-haiku-4-5"
"""Takes a thinking budget, and no effort level."""


async def next_body(session: Session, endpoint: Endpoint) -> dict[str, Any]:
    await session.ask("next")
    return endpoint.main_requests[-1].body


def system_text(body: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in body["system"])


async def test_effort_applies_to_the_next_request(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        assert (await next_body(session, api))["output_config"] == {"effort": "medium"}
        await session.apply_flag_settings({"effortLevel": "low"})
        assert (await next_body(session, api))["output_config"] == {"effort": "low"}
        settings = await session.get_settings()
        assert (settings.effective["effortLevel"], settings.applied["effort"]) == ("low", "low")
        assert {"source": "flagSettings", "settings": {"effortLevel": "low"}} in settings.sources
        await session.apply_flag_settings({"effortLevel": None})
        assert (await next_body(session, api))["output_config"] == {"effort": "medium"}
        assert (await session.get_settings()).applied["effort"] == "medium"


async def test_clearing_the_effort_restores_the_launch_value(talk_to_api: TalkToApi):
    async with talk_to_api(effort="high") as (session, api):
        await session.apply_flag_settings({"effortLevel": "max"})
        assert (await next_body(session, api))["output_config"] == {"effort": "max"}
        await session.apply_flag_settings({"effortLevel": None})
        assert (await next_body(session, api))["output_config"] == {"effort": "high"}


async def test_effort_of_a_settings_file_is_sent(talk_to_api: TalkToApi):
    async with talk_to_api(settings={"effortLevel": "medium"}) as (session, api):
        assert (await next_body(session, api))["output_config"] == {"effort": "medium"}


async def test_effort_changes_between_two_requests_of_one_turn(talk_to_api: TalkToApi):
    changed = asyncio.Event()
    replies = [tool_use("Bash", command="touch made"), text("done")]
    async with talk_to_api(*replies, can_use_tool=lambda _: wait_for(changed)) as (session, api):
        turn = await session.send("go")
        await api.called()
        await session.apply_flag_settings({"effortLevel": "xhigh"})
        changed.set()
        await turn
        assert [request.body.get("output_config") for request in api.main_requests] == [
            {"effort": "medium"},
            {"effort": "xhigh"},
        ]


async def wait_for(event: asyncio.Event) -> bool:
    await event.wait()
    return True


async def test_model_applies_to_the_next_request(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        await session.apply_flag_settings({"model": HAIKU})
        assert (await next_body(session, api))["model"] == HAIKU
        assert (await session.get_settings()).applied["model"] == HAIKU
        await session.set_model("opus")
        assert (await next_body(session, api))["model"] == "claude-opus-5-5"
        await session.apply_flag_settings({"model": None})
        assert (await next_body(session, api))["model"] == SONNET


async def test_an_alias_set_at_run_time_follows_the_environment(talk_to_api: TalkToApi):
    async with talk_to_api(variables={"ANTHROPIC_DEFAULT_HAIKU_MODEL": "my-haiku"}) as (session, api):
        assert (await session.set_model("haiku")).model == "my-haiku"
        assert (await next_body(session, api))["model"] == "my-haiku"


async def test_effort_is_not_sent_to_a_model_without_effort_levels(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        await session.apply_flag_settings({"effortLevel": "low"})
        await session.set_model(HAIKU)
        assert "output_config" not in await next_body(session, api)
        assert (await session.get_settings()).applied["effort"] is None
        await session.apply_flag_settings({"effortLevel": "high"})
        assert "output_config" not in await next_body(session, api)


async def test_output_style_applies_to_the_next_request(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        before = system_text(await next_body(session, api))
        await session.apply_flag_settings({"outputStyle": "Explanatory"})
        assert len(system_text(await next_body(session, api))) > len(before)
        assert session.info is not None
        assert session.info.output_style == "Explanatory"
        assert (await session.get_settings()).applied["outputStyle"] == "Explanatory"
        await session.apply_flag_settings({"outputStyle": None})
        assert system_text(await next_body(session, api)) == before


async def test_output_style_has_no_effect_beside_a_custom_system_prompt(talk_to_api: TalkToApi):
    async with talk_to_api(system_prompt="You are a parrot.") as (session, api):
        before = system_text(await next_body(session, api))
        await session.apply_flag_settings({"outputStyle": "Explanatory"})
        assert system_text(await next_body(session, api)) == before


async def test_permission_mode_applies_to_the_next_request(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        before = await next_body(session, api)
        await session.set_permission_mode("plan")
        planning = await next_body(session, api)
        assert "ExitPlanMode" in json.dumps(planning["messages"][-1])
        assert planning["system"] == before["system"]
        assert (await session.get_settings()).applied["permissionMode"] == "plan"
        await session.set_permission_mode("default")
        assert "ExitPlanMode" not in json.dumps((await next_body(session, api))["messages"][-1])


async def test_permission_rules_apply_to_the_next_call(talk_to_api: TalkToApi, lab: Lab):
    calls = [tool_use("Bash", command=f"touch {name}") for name in ("one", "two")]
    asked: list[str] = []

    def decide(request: Any) -> bool:
        asked.append(request.tool_name)
        return True

    replies = [calls[0], text("done"), calls[1], text("done")]
    async with talk_to_api(*replies, can_use_tool=decide) as (session, _):
        await session.ask("first")
        assert asked == ["Bash"]
        await session.apply_flag_settings({"permissions": {"allow": ["Bash(touch:*)"]}})
        await session.ask("second")
    assert (asked, (lab.project / "two").exists()) == (["Bash"], True)


async def test_thinking_budget_applies_to_the_next_request(talk_to_api: TalkToApi):
    async with talk_to_api(model=HAIKU) as (session, api):
        assert (await next_body(session, api))["thinking"] == {"type": "enabled", "budget_tokens": 31_999}
        await session.set_max_thinking_tokens(2000)
        assert (await next_body(session, api))["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        assert (await session.get_settings()).applied["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        await session.set_max_thinking_tokens(0)
        assert (await next_body(session, api))["thinking"] == {"type": "disabled"}


async def test_thinking_on_an_adaptive_model_is_adaptive(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        await session.set_max_thinking_tokens(2000, thinking_display="omitted")
        assert (await next_body(session, api))["thinking"] == {"type": "adaptive", "display": "omitted"}
        await session.set_max_thinking_tokens(None)
        assert (await next_body(session, api))["thinking"]["type"] == "adaptive"


async def test_clearing_the_thinking_budget_restores_the_launch_value(talk_to_api: TalkToApi):
    async with talk_to_api(model=HAIKU, max_thinking_tokens=4000) as (session, api):
        await session.set_max_thinking_tokens(2000)
        await session.set_max_thinking_tokens(None)
        assert (await next_body(session, api))["thinking"]["budget_tokens"] == 4000


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"model": 5}, "model"),
        ({"outputStyle": ["Concise"]}, "outputStyle"),
        ({"language": 5}, "language"),
        ({"disableAllHooks": 5}, "disableAllHooks"),
        ({"cleanupPeriodDays": "x"}, "cleanupPeriodDays"),
        ({"cleanupPeriodDays": True}, "cleanupPeriodDays"),
        ({"env": 5}, "env"),
        ({"hooks": {"PreToolUse": 5}}, "hooks"),
        ({"permissions": ["Bash"]}, "permissions"),
        ({"permissions": {"allow": "Bash"}}, "permissions.allow"),
        ({"permissions": {"deny": 4}}, "permissions.deny"),
        ({"permissions": {"deny": ["Bash("]}}, "Bash"),
        ({"permissions": {"additionalDirectories": 4}}, "additionalDirectories"),
        ({"permissions": {"defaultMode": "nope"}}, "defaultMode"),
        ({"sandbox": {"enabled": True}, "effortLevel": "low"}, "sandbox"),
    ],
)
async def test_settings_of_the_wrong_kind_are_refused_by_name(
    talk_to_api: TalkToApi, settings: dict[str, Any], named: str
):
    async with talk_to_api() as (session, api):
        before = (await session.get_settings()).effective
        with pytest.raises(ControlRefused, match=named):
            await session.apply_flag_settings(settings)
        assert (await session.get_settings()).effective == before
        assert (await next_body(session, api))["output_config"] == {"effort": "medium"}


@pytest.mark.parametrize(
    "settings",
    [
        {"noSuchKey": True, "cleanupPeriodDays": 3},
        {"outputStyle": "nope"},
        {"hooks": 5},
        {"hooks": []},
        {"permissions": {"noSuchKey": True}},
        {"permissions": {"defaultMode": "acceptEdits"}},
        {"permissions": {"allow": [5, "Bash("]}},
        {"model": ""},
        {"mcpServers": {}},
    ],
)
async def test_settings_without_effect_are_acknowledged_and_the_others_applied(
    talk_to_api: TalkToApi, settings: dict[str, Any]
):
    async with talk_to_api() as (session, api):
        await session.apply_flag_settings({**settings, "effortLevel": "low"})
        body = await next_body(session, api)
        assert (body["output_config"], body["model"]) == ({"effort": "low"}, SONNET)
        assert (await session.get_settings()).applied["permissionMode"] == "default"


@pytest.mark.parametrize("level", ["enormous", 3])
async def test_unknown_effort_level_keeps_the_level(talk_to_api: TalkToApi, level: Any):
    async with talk_to_api() as (session, api):
        await session.apply_flag_settings({"effortLevel": "low"})
        await session.apply_flag_settings({"effortLevel": level})
        assert (await next_body(session, api))["output_config"] == {"effort": "low"}


async def test_variables_apply_to_the_next_command(talk_to_api: TalkToApi, lab: Lab):
    command = tool_use("Bash", command="echo $GREETING > said")
    options: dict[str, Any] = {"allowed_tools": ["Bash"]}
    async with talk_to_api(command, text("done"), **options) as (session, _):
        await session.apply_flag_settings({"env": {"GREETING": "hello"}})
        await session.ask("go")
    assert (lab.project / "said").read_text() == "hello\n"


async def test_hooks_apply_to_the_next_call_until_they_are_removed(talk_to_api: TalkToApi, lab: Lab):
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}
    calls = [tool_use("Bash", command=f"touch {name}") for name in ("one", "two")]
    options: dict[str, Any] = {"allowed_tools": ["Bash"]}
    async with talk_to_api(calls[0], text("blocked"), calls[1], text("done"), **options) as (session, _):
        await session.apply_flag_settings({"hooks": {"PreToolUse": [hook]}})
        await session.ask("first")
        await session.apply_flag_settings({"hooks": None})
        await session.ask("second")
    assert [(lab.project / name).exists() for name in ("one", "two")] == [False, True]


async def test_folders_are_granted_until_they_are_removed(talk_to_api: TalkToApi, lab: Lab):
    other = lab.project.parent / "other"
    other.mkdir()
    (other / "note.txt").write_text("hello")
    asked: list[str] = []

    def decide(request: Any) -> bool:
        asked.append(request.tool_name)
        return False

    read = tool_use("Read", file_path=str(other / "note.txt"))
    async with talk_to_api(read, text("1"), read, text("2"), can_use_tool=decide) as (session, _):
        await session.apply_flag_settings({"permissions": {"additionalDirectories": [str(other)]}})
        await session.ask("first")
        assert asked == []
        await session.apply_flag_settings({"permissions": None})
        await session.ask("second")
        assert asked == ["Read"]


async def test_disabling_bypass_ends_it(talk_to_api: TalkToApi):
    options: dict[str, Any] = {"permission_mode": "bypassPermissions", "allow_dangerously_skip_permissions": True}
    async with talk_to_api(**options) as (session, _):
        assert (await session.get_settings()).applied["permissionMode"] == "bypassPermissions"
        await session.apply_flag_settings({"permissions": {"disableBypassPermissionsMode": "disable"}})
        assert (await session.get_settings()).applied["permissionMode"] == "default"
        with pytest.raises(ControlRefused):
            await session.set_permission_mode("bypassPermissions")


async def test_thinking_setting_applies_to_the_next_request(talk_to_api: TalkToApi):
    async with talk_to_api(model=HAIKU) as (session, api):
        await session.apply_flag_settings({"alwaysThinkingEnabled": False})
        assert (await next_body(session, api))["thinking"] == {"type": "disabled"}
        await session.apply_flag_settings({"alwaysThinkingEnabled": None})
        assert (await next_body(session, api))["thinking"]["type"] == "enabled"


@pytest.mark.parametrize(
    ("model", "tokens", "thinking"),
    [
        (HAIKU, 500, {"type": "enabled", "budget_tokens": 1024}),
        (HAIKU, 2000.0, {"type": "enabled", "budget_tokens": 2000}),
        (HAIKU, 32_000, {"type": "enabled", "budget_tokens": 31_999}),
        (HAIKU, -5, {"type": "enabled", "budget_tokens": 1024}),
        ("claude-opus-5-5", 0, {"type": "adaptive"}),
        ("claude-opus-5-5", -5, {"type": "adaptive"}),
    ],
)
async def test_thinking_budget_is_brought_into_the_range_of_the_model(
    talk_to_api: TalkToApi, model: str, tokens: float, thinking: dict[str, Any]
):
    async with talk_to_api(model=model) as (session, api):
        await session.control("set_max_thinking_tokens", max_thinking_tokens=tokens)
        assert (await next_body(session, api))["thinking"] == thinking


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"max_thinking_tokens": True}, "max_thinking_tokens"),
        ({"max_thinking_tokens": "x"}, "max_thinking_tokens"),
        ({"max_thinking_tokens": 1.5}, "max_thinking_tokens"),
        ({"thinking_display": ""}, "thinking_display"),
        ({"max_thinking_tokens": 2000, "thinking_display": "bogus"}, "bogus"),
    ],
)
async def test_thinking_of_the_wrong_kind_is_refused(talk_to_api: TalkToApi, fields: dict[str, Any], reason: str):
    async with talk_to_api(model=HAIKU) as (session, api):
        before = (await next_body(session, api))["thinking"]
        with pytest.raises(ControlRefused, match=reason):
            await session.control("set_max_thinking_tokens", **fields)
        assert (await next_body(session, api))["thinking"] == before


@pytest.mark.parametrize("mode", [["plan"], {"mode": "plan"}, None, 3, "delegate"])
async def test_a_mode_that_is_not_a_mode_is_refused(talk_to_api: TalkToApi, mode: Any):
    async with talk_to_api() as (session, _):
        with pytest.raises(ControlRefused) as refused:
            await session.control("set_permission_mode", mode=mode)
        assert refused.value.code == "invalid_mode"


async def test_an_output_style_is_written_to_the_local_settings_and_applied(talk_to_api: TalkToApi, lab: Lab):
    async with talk_to_api(setting_sources=["user", "project", "local"]) as (session, api):
        before = system_text(await next_body(session, api))
        await session.update_settings("localSettings", {"outputStyle": "Explanatory"})
        written = json.loads((lab.project / ".claude" / "settings.local.json").read_text())
        assert written == {"outputStyle": "Explanatory"}
        assert len(system_text(await next_body(session, api))) > len(before)


async def test_an_effort_level_is_written_for_the_model_of_the_session(talk_to_api: TalkToApi, lab: Lab):
    options: dict[str, Any] = {"setting_sources": ["user"]}
    async with talk_to_api(**options) as (session, api):
        await session.update_settings("userSettings", {"effortLevel": "low"})
        written = json.loads((lab.home / ".claude" / "settings.json").read_text())
        assert written == {"modelSettings": {SONNET: {"effortLevel": "low"}}}
        assert (await next_body(session, api))["output_config"] == {"effort": "medium"}
    async with talk_to_api(**options) as (session, api):
        assert (await next_body(session, api))["output_config"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("source", "settings", "reason"),
    [
        ("localSettings", {"hooks": {}}, "hooks"),
        ("localSettings", {"outputStyle": "Concise", "env": {"A": "b"}}, "env"),
        ("localSettings", {"outputStyle": None}, "outputStyle must be a string"),
        ("localSettings", {"outputStyle": "nope"}, "nope"),
        ("localSettings", {}, "settings"),
        ("userSettings", {"outputStyle": "Concise"}, "outputStyle"),
        ("userSettings", {"effortLevel": "enormous"}, "enormous"),
        ("userSettings", {"effortLevel": "max"}, "max"),
        ("projectSettings", {"outputStyle": "Concise"}, "projectSettings"),
        ("policySettings", {"outputStyle": "Concise"}, "policySettings"),
    ],
)
async def test_other_settings_are_not_written(
    talk_to_api: TalkToApi, lab: Lab, source: str, settings: dict[str, Any], reason: str
):
    async with talk_to_api(setting_sources=["user", "project", "local"]) as (session, _):
        with pytest.raises(ControlRefused, match=f"update_settings.*{reason}"):
            await session.update_settings(source, settings)
    assert not (lab.project / ".claude" / "settings.local.json").exists()


async def test_a_settings_file_that_the_session_does_not_read_is_not_written(talk_to_api: TalkToApi):
    async with talk_to_api(setting_sources=["user"]) as (session, _):
        with pytest.raises(ControlRefused, match="--setting-sources"):
            await session.update_settings("localSettings", {"outputStyle": "Concise"})
