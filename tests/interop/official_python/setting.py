"""Effects of options, settings and folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

from claude_agent_sdk import AssistantMessage
from stage import Stage, allow, equal, scenario, turn

HAIKU = "claude-haiku-4-5"


def put(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


@scenario
async def set_model(stage: Stage) -> None:
    async with stage.client(model="claude-sonnet-4-5") as client:
        first = await turn(client, "one")
        await client.set_model(HAIKU)
        second = await turn(client, "two")
    models = [said.of(AssistantMessage)[0].model for said in (first, second)]
    equal(models, ["claude-sonnet-4-5", HAIKU])
    equal((first.init["model"], second.init["model"]), ("claude-sonnet-4-5", HAIKU))


@scenario
async def system_prompt(stage: Stage) -> None:
    equal((await stage.ask("hi", system_prompt="You are a pirate")).result.result, "Arr.")
    equal((await stage.ask("hi")).result.result, "Hello.")


@scenario
async def system_prompt_append(stage: Stage) -> None:
    preset = {"type": "preset", "preset": "claude_code", "append": "Speak like a pirate"}
    equal((await stage.ask("hi", system_prompt=preset)).result.result, "Arr.")


@scenario
async def settings_sources(stage: Stage) -> None:
    put(stage.project / ".claude" / "settings.json", json.dumps({"permissions": {"deny": ["Bash"]}}))
    with_project = await stage.ask("go", setting_sources=["project"], can_use_tool=allow)
    equal((with_project.result.result, stage.made), ("denied", False))
    without = await stage.ask("go", setting_sources=[], can_use_tool=allow)
    equal((without.result.result, stage.made), ("ran", True))


@scenario
async def add_dir(stage: Stage) -> None:
    put(stage.outside / "far.txt", "from outside")
    equal((await stage.ask("read it", add_dirs=[stage.outside])).result.result, "read")
    equal((await stage.ask("read it")).result.result, "not read")


@scenario
async def env(stage: Stage) -> None:
    said = await stage.ask("go", env={"COLOUR": "teal"}, allowed_tools=["Bash"])
    equal(said.result.result, "it is seen")


@scenario
async def stderr(stage: Stage) -> None:
    heard: list[str] = []
    said = await stage.ask("hi", stderr=heard.append, extra_args={"debug-to-stderr": None})
    equal(said.result.result, "Hello.")
    assert heard, "nothing was said on stderr"


@scenario
async def tools_option(stage: Stage) -> None:
    equal(sorted((await stage.ask("hi", tools=["Read", "Bash"])).init["tools"]), ["Bash", "Read"])


@scenario
async def slash_command(stage: Stage) -> None:
    put(stage.project / ".claude" / "commands" / "greet.md", "---\ndescription: Greets\n---\nGreet $ARGUMENTS warmly")
    said = await stage.ask("/greet Ada", setting_sources=["project"])
    assert "greet" in said.init["slash_commands"]
    equal(said.result.result, "Good day, Ada.")


@scenario
async def skills_and_agents_on_disk(stage: Stage) -> None:
    home = Path(os.environ["CLAUDE_CONFIG_DIR"])
    put(home / "skills" / "dig" / "SKILL.md", "---\nname: dig\ndescription: Digs\n---\nDig.")
    put(home / "agents" / "mole.md", "---\nname: mole\ndescription: Digs\n---\nYou dig.")
    said = await stage.ask("hi", setting_sources=["user"])
    assert "mole" in said.init["agents"], said.init["agents"]
    assert "dig" in said.init["skills"], said.init["skills"]


@scenario
async def plugin(stage: Stage) -> None:
    folder = stage.outside / "greeter"
    put(folder / ".claude-plugin" / "plugin.json", json.dumps({"name": "greeter", "version": "1.0.0"}))
    put(folder / "commands" / "hi.md", "Say hi the plugin way")
    said = await stage.ask("/greeter:hi", plugins=[{"type": "local", "path": str(folder)}])
    assert "greeter" in [one["name"] for one in said.init["plugins"]]
    equal(said.result.result, "Hi from the plugin.")


@scenario
async def context_usage(stage: Stage) -> None:
    async with stage.client() as client:
        await turn(client, "hi")
        usage = await client.get_context_usage()
    assert usage["totalTokens"] > 0
    assert usage["maxTokens"] >= 200_000
    assert usage["categories"]


@scenario
async def server_info(stage: Stage) -> None:
    async with stage.client() as client:
        info = await client.get_server_info()
    assert "compact" in {command["name"] for command in info["commands"]}
    equal(info["output_style"], "default")
