"""Options, settings and folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.interop.shim_scenarios.stage import TOUCH, Sdk, Stage, allowing, calls, scenario, when

HAIKU = "claude-haiku-4-5"
PIRATE = (when("Arr.", system="You are a pirate"), when("Aye.", system="Speak like a pirate"))
DENIED = (when("denied", failed=True), when("ran", failed=False, after="Bash"), TOUCH)


@scenario("one", "two", "three")
async def set_model(sdk: Sdk, stage: Stage) -> None:
    async with stage.client(model="claude-sonnet-4-5") as client:
        await stage.turn(client, "one")
        stage.see(await client.set_model(HAIKU), "model")
        await stage.turn(client, "two")
        stage.see(await client.set_model(None), "model")
        await stage.turn(client, "three")


@scenario(*PIRATE, afterwards="Hello.")
async def system_prompt_as_text(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", system_prompt="You are a pirate")


@scenario(*PIRATE, afterwards="Hello.")
async def system_prompt_with_an_addition(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", system_prompt={"type": "preset", "preset": "claude_code", "append": "Speak like a pirate"})


@scenario(*PIRATE, afterwards="Hello.")
async def system_prompt_of_the_preset(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", system_prompt={"type": "preset", "preset": "claude_code"})


@scenario(*PIRATE, afterwards="Hello.")
async def system_prompt_from_a_file(sdk: Sdk, stage: Stage) -> None:
    file = stage.put(stage.outside / "prompt.txt", "You are a pirate")
    await stage.ask("hi", system_prompt={"type": "file", "path": str(file)})


@scenario(when("empty", system="software engineering"), afterwards="Hello.")
async def no_system_prompt(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi")


@scenario(*DENIED)
async def settings_as_text(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", settings=json.dumps({"permissions": {"deny": ["Bash"]}}), can_use_tool=allowing(stage))


@scenario(*DENIED)
async def settings_from_a_file(sdk: Sdk, stage: Stage) -> None:
    file = stage.put(stage.outside / "settings.json", json.dumps({"permissions": {"allow": ["Bash"]}}))
    await stage.ask("go", settings=str(file), can_use_tool=allowing(stage))


@scenario(*DENIED)
async def setting_sources_with_the_project(sdk: Sdk, stage: Stage) -> None:
    stage.put(".claude/settings.json", json.dumps({"permissions": {"deny": ["Bash"]}}))
    await stage.ask("go", setting_sources=["project"], can_use_tool=allowing(stage))


@scenario(*DENIED)
async def no_setting_sources(sdk: Sdk, stage: Stage) -> None:
    stage.put(".claude/settings.json", json.dumps({"permissions": {"deny": ["Bash"]}}))
    await stage.ask("go", setting_sources=[], can_use_tool=allowing(stage))


@scenario(when("read", tool_result="from outside"), calls("Read", file_path="/OUTSIDE/far.txt"), "not read")
async def add_dirs(sdk: Sdk, stage: Stage) -> None:
    stage.put(stage.outside / "far.txt", "from outside")
    await stage.ask("read it", add_dirs=[stage.outside])


@scenario(calls("Bash", command="echo colour=$COLOUR"), "seen")
async def env(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", env={"COLOUR": "teal"}, allowed_tools=["Bash"])


@scenario(calls("Bash", command="echo inherited=$INHERITED"), "seen")
async def inherited_env(sdk: Sdk, stage: Stage) -> None:
    os.environ["INHERITED"] = "yes"
    await stage.ask("go", allowed_tools=["Bash"])


@scenario("Hello.")
async def stderr(sdk: Sdk, stage: Stage) -> None:
    heard: list[str] = []
    await stage.ask("hi", stderr=heard.append, extra_args={"debug-to-stderr": None})
    stage.see(bool(heard), "heard")
    stage.see(any("\n" in line for line in heard), "newlines")


@scenario(when("Hi from the plugin.", prompt="Say hi the plugin way"), afterwards="what?")
async def plugin(sdk: Sdk, stage: Stage) -> None:
    folder = stage.outside / "greeter"
    stage.put(folder / ".claude-plugin" / "plugin.json", json.dumps({"name": "greeter", "version": "1.0.0"}))
    stage.put(folder / "commands" / "hi.md", "Say hi the plugin way")
    await stage.ask("/greeter:hi", plugins=[{"type": "local", "path": str(folder)}])


def put_skills(stage: Stage) -> None:
    home = Path(os.environ["HOME"]) / ".claude"
    for name in ("dig", "swim"):
        stage.put(home / "skills" / name / "SKILL.md", f"---\nname: {name}\ndescription: {name}s\n---\n{name}.")
    stage.put(home / "agents" / "mole.md", "---\nname: mole\ndescription: Digs\n---\nYou dig.")


@scenario("Hello.")
async def skills_and_agents_on_disk(sdk: Sdk, stage: Stage) -> None:
    put_skills(stage)
    await stage.ask("hi", setting_sources=["user"])


@scenario(calls("Skill", skill="dig"), "dug")
async def one_skill(sdk: Sdk, stage: Stage) -> None:
    put_skills(stage)
    await stage.ask("hi", skills=["dig"])


@scenario(calls("Skill", skill="dig"), "dug")
async def all_skills(sdk: Sdk, stage: Stage) -> None:
    put_skills(stage)
    await stage.ask("hi", skills="all")


@scenario("Hello.")
async def context_usage(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.turn(client, "hi")
        usage = await client.get_context_usage()
    stage.see(sorted(usage), "keys")
    stage.see(usage["maxTokens"], "limit")
    stage.see([one["name"] for one in usage["categories"]], "categories")


@scenario("Hello.", trio=True)
async def server_info(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        stage.see(await client.get_server_info(), "info")


@scenario("Hello.")
async def thinking_adaptive(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", thinking={"type": "adaptive"})


@scenario("Hello.")
async def thinking_enabled(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", thinking={"type": "enabled", "budget_tokens": 2000})


@scenario("Hello.")
async def thinking_disabled(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", thinking={"type": "disabled"})


@scenario("Hello.")
async def max_thinking_tokens(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", max_thinking_tokens=3000)


@scenario("Hello.")
async def effort(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", effort="low")


@scenario("Hello.")
async def fallback_model(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", model="claude-sonnet-4-5", fallback_model=HAIKU)


@scenario("Hello.")
async def mcp_config_from_a_file(sdk: Sdk, stage: Stage) -> None:
    servers = {"mcpServers": {"dead": {"command": "/nonexistent/server"}}}
    file = stage.put(stage.outside / "mcp.json", json.dumps(servers))
    await stage.ask("hi", mcp_servers=file, strict_mcp_config=True)


@scenario("Hello.")
async def long_system_prompt_from_a_file(sdk: Sdk, stage: Stage) -> None:
    file = stage.put(stage.outside / "prompt.txt", "You are a pirate. " * 20_000)
    await stage.ask("hi", system_prompt={"type": "file", "path": str(file)})


@scenario("Hello.")
async def sandbox_settings(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", sandbox={"enabled": False, "excludedCommands": ["git"]})


@scenario("Hello.")
async def client_app_and_betas(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("hi", client_app="scenario/1.0", betas=["context-1m-2025-08-07"])
