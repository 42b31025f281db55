"""handrail.agent.slash_commands.commands: prompts of ours, of the user, of the project and of servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.slash_commands import prompts
from tests.agent.slash_commands.folders import project_file, put, trust, user_file
from tests.agent.stage import StagedHost, hooks_for, stage

ONE = Script.of(text("Done."), text("Done again."))


def last_blocks(host: StagedHost) -> list[str]:
    return [block["text"] for block in host.model.asked[-1]["messages"][-1]["content"]]


def last_prompt(host: StagedHost) -> str:
    """The text of the last prompt, without the call that a command was made by."""
    return "\n".join(text for text in last_blocks(host) if not text.startswith("<command-message>"))


@pytest.mark.parametrize(
    "command", [command for command in prompts.COMMANDS if not command.forks], ids=lambda command: command.name
)
async def test_built_in_prompt_is_a_model_turn(tmp_path: Path, command: prompts.Command) -> None:
    async with stage(tmp_path, ONE) as host:
        result = await host.turn(f"/{command.name}")
        assert (result["result"], result["num_turns"]) == ("Done.", 1)
        assert last_prompt(host).startswith((command.body or "")[:40])
        assert "$ARGUMENTS" not in last_prompt(host)
        assert host.of("user") == []


@pytest.mark.parametrize("prompt", ["/etc/hostname what is it", "/", "/ x", "//cost", "/cost/x"])
async def test_prompt_without_a_command_is_sent_unchanged(tmp_path: Path, prompt: str) -> None:
    async with stage(tmp_path, ONE) as host:
        await host.turn(prompt)
        assert last_prompt(host) == prompt


@pytest.mark.parametrize("prompt", ["/nosuch thing", "/tmp", "/group:none x"])
async def test_unknown_command_is_sent_with_a_note_that_nothing_ran(tmp_path: Path, prompt: str) -> None:
    user_file(tmp_path, "commands/fix.md", "Fix it.")
    async with stage(tmp_path, ONE) as host:
        await host.turn(prompt)
        note, said = last_blocks(host)
        assert said == prompt
        assert f"begins with {prompt.split()[0]}, which is not a command" in note
        assert "/fix" in note


async def test_without_commands_an_unknown_one_has_no_note(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE, "--disable-slash-commands") as host:
        await host.turn("/nosuch thing")
        assert last_blocks(host) == ["/nosuch thing"]


@pytest.mark.parametrize(
    ("prompt", "call", "text"),
    [
        ("/greet Ann Lee", ["greet", "/greet", "Ann Lee"], "Say hi to Ann Lee."),
        ("/git:log", ["git:log", "/git:log"], "Show the log"),
        ("/pack <b> & c", ["pack", "/pack", "<b> & c"], "\n\nARGUMENTS: <b> & c"),
    ],
)
async def test_the_model_and_the_transcript_have_the_call_before_its_text(
    tmp_path: Path, prompt: str, call: list[str], text: str
) -> None:
    user_file(tmp_path, "commands/greet.md", "Say hi to $ARGUMENTS.")
    user_file(tmp_path, "commands/git/log.md", "Show the log")
    user_file(tmp_path, "skills/pack/SKILL.md", "---\ndescription: Packs\n---\nPack.")
    names = ("command-message", "command-name", "command-args")
    elements = "\n".join(f"<{name}>{value}</{name}>" for name, value in zip(names, call, strict=False))
    async with stage(tmp_path, ONE, "--replay-user-messages") as host:
        await host.turn(prompt)
        assert last_blocks(host)[0] == elements
        assert last_blocks(host)[1].endswith(text)
        assert [line["message"]["content"] for line in host.of("user") if line.get("isReplay")] == [elements]
        lines = [json.loads(line) for line in host.engine.transcript.path.read_text().splitlines()]
    said = [line for line in lines if line["type"] == "user"]
    assert said[0]["message"]["content"] == elements
    assert said[1]["isMeta"]
    assert said[1]["message"]["content"][0]["text"].endswith(text)


async def test_the_users_commands_are_listed_and_filled_in(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/fix.md", "---\ndescription: Fix one\nargument-hint: [number]\n---\nFix #$0.")
    user_file(tmp_path, "commands/git/log.md", "Show the log")
    async with stage(tmp_path, ONE) as host:
        answer = (await host.control("initialize"))["response"]
        await host.turn("/fix 12 now")
        assert {"name": "fix", "description": "Fix one", "argumentHint": "[number]"} in answer["commands"]
        assert "git:log" in host.of("system", "init")[0]["slash_commands"]
        assert last_prompt(host) == "Fix #12."


async def test_files_mentioned_in_a_command_are_read(tmp_path: Path) -> None:
    put(tmp_path / "project" / "notes.txt", "the secret word is pear")
    user_file(tmp_path, "commands/read.md", "Read @notes.txt")
    async with stage(tmp_path, ONE) as host:
        await host.turn("/read")
        assert "the secret word is pear" in last_prompt(host)


async def test_a_command_of_an_untrusted_project_runs_nothing_and_grants_nothing(tmp_path: Path) -> None:
    head = "---\nallowed-tools: Bash(touch:*)\nmodel: claude-other\n---\n"
    project_file(tmp_path, "commands/do.md", f"{head}Made: !`touch made`")
    script = Script.of(tool_use("Bash", command="touch made"), text("Done."))
    async with stage(tmp_path, script) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("/do")
        assert host.model.asked[0]["messages"][0]["content"][1]["text"] == "Made: `touch made`"
        assert host.model.asked[0]["model"] == "claude-other"
        assert len(host.requests("can_use_tool")) == 1
    assert not (tmp_path / "project" / "made").exists()


async def test_untrusted_project_replaces_no_built_in_command(tmp_path: Path) -> None:
    project_file(tmp_path, "commands/review.md", "Mine")
    project_file(tmp_path, "commands/cost.md", "Mine")
    async with stage(tmp_path, ONE) as host:
        await host.turn("/review")
        assert last_prompt(host) != "Mine"
        assert "Total cost" in (await host.turn("/cost"))["result"]


@pytest.mark.parametrize("name", ["clear", "compact", "cost", "memory", "review"])
async def test_a_command_of_the_user_replaces_one_of_the_agent(tmp_path: Path, name: str) -> None:
    user_file(tmp_path, f"commands/{name}.md", "Mine")
    async with stage(tmp_path, ONE) as host:
        assert (await host.turn(f"/{name}"))["num_turns"] == 1
        assert last_prompt(host) == "Mine"


async def test_a_trusted_command_runs_its_lines_and_grants_its_tools_for_its_turn_only(tmp_path: Path) -> None:
    head = "---\nallowed-tools: Bash(touch:*), Bash(echo:*)\nmodel: claude-other\n---\n"
    project_file(tmp_path, "commands/do.md", f"{head}Said: !`echo $0 @there`.")
    put(tmp_path / "project" / "there", "not to be read")
    trust(tmp_path)
    touch = tool_use("Bash", command="touch made")
    async with stage(tmp_path, Script.of(touch, text("Done."), touch, text("Done."))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("/do pear")
        first = host.model.asked[0]
        assert first["messages"][0]["content"][1:] == [{"type": "text", "text": "Said: pear @there."}]
        assert first["model"] == "claude-other"
        assert host.requests("can_use_tool") == []
        assert (tmp_path / "project" / "made").exists()
        await host.turn("and now?")
        assert len(host.requests("can_use_tool")) == 1
        assert host.model.asked[-1]["model"] != "claude-other"
        assert [rule for rule in host.engine.session.circumstances.rules if rule.scope == "command"] == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Made: !`touch made`", "touch made"),
        ("---\nallowed-tools: Bash(false:*)\n---\nX: !`false`", "false"),
        ("---\nallowed-tools: Bash(echo:*)\n---\nX: !`echo a` !`cat none`", "cat none"),
    ],
    ids=["needs permission", "fails", "second fails"],
)
async def test_a_shell_line_that_cannot_run_ends_the_command(tmp_path: Path, body: str, words: str) -> None:
    user_file(tmp_path, "commands/do.md", body)
    async with stage(tmp_path, ONE) as host:
        result = await host.turn("/do")
        assert words in result["result"]
        assert (result["num_turns"], result["is_error"]) == (0, False)
        assert not host.requests("can_use_tool")
        assert host.model.asked == []
        assert (await host.turn("hi"))["result"] == "Done."
    assert not (tmp_path / "project" / "made").exists()


async def test_output_of_a_shell_line_is_not_expanded(tmp_path: Path) -> None:
    put(tmp_path / "project" / "there", "not to be read")
    put(tmp_path / "project" / "out.txt", "!`touch made` $1 @there")
    user_file(tmp_path, "commands/do.md", "---\nallowed-tools: Bash(cat:*)\n---\n!`cat out.txt`")
    async with stage(tmp_path, ONE) as host:
        await host.turn("/do x")
        assert last_prompt(host).startswith("!`touch made` $1 @there")
        assert "not to be read" not in last_prompt(host)


async def test_a_shell_line_can_be_interrupted(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/do.md", "!`echo a`")
    async with stage(tmp_path, ONE) as host:
        host.answers["hook_callback"] = lambda request: None
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.say("/do")
        await host.until(lambda: host.requests("hook_callback"))
        await host.control("interrupt")
        assert (await host.result())["subtype"] == "error_during_execution"
        assert host.model.asked == []


async def test_disabled_slash_commands_are_not_listed(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/fix.md", "Fix it")
    user_file(tmp_path, "skills/s/SKILL.md", "A skill")
    async with stage(tmp_path, ONE, "--disable-slash-commands") as host:
        await host.turn("/cost")
        init = host.of("system", "init")[0]
        assert (init["slash_commands"], init["skills"]) == ([], [])
        assert "Skill" not in init["tools"]
        assert last_prompt(host) == "/cost"


async def test_empty_setting_sources_exclude_all_files(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/fix.md", "Fix it")
    project_file(tmp_path, "commands/mine.md", "Mine")
    async with stage(tmp_path, ONE, "--setting-sources", "") as host:
        await host.turn("hi")
        assert {"fix", "mine"} & set(host.of("system", "init")[0]["slash_commands"]) == set()


@pytest.mark.parametrize(("sources", "found"), [("user", {"fix"}), ("project", {"mine"}), ("local", set[str]())])
async def test_setting_sources_select_the_commands(tmp_path: Path, sources: str, found: set[str]) -> None:
    user_file(tmp_path, "commands/fix.md", "Fix it")
    project_file(tmp_path, "commands/mine.md", "Mine")
    async with stage(tmp_path, ONE, "--setting-sources", sources) as host:
        assert {"fix", "mine"} & set(host.engine.commands.names()) == found


async def test_a_folder_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "out.md", "Outside")
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    (tmp_path / "project" / ".claude" / "commands").symlink_to(tmp_path / "elsewhere")
    async with stage(tmp_path, ONE) as host:
        await host.turn("hi")
        assert "out" not in host.of("system", "init")[0]["slash_commands"]


async def test_reload_checks_the_trust_of_the_folder_again(tmp_path: Path) -> None:
    project_file(tmp_path, "skills/old/SKILL.md", "Old !`touch old`")
    trust(tmp_path)
    async with stage(tmp_path, ONE) as host:
        user_file(tmp_path, "skills/new/SKILL.md", "---\ndescription: A new one\n---\nNew")
        before = (await host.control("reload_skills"))["response"]
        assert host.engine.commands.known["old"].trusted
        project_file(tmp_path, "skills/bad/SKILL.md", "---\nallowed-tools: Bash\n---\nNot accepted")
        after = (await host.control("reload_skills"))["response"]
        assert {"name": "new", "description": "A new one", "argumentHint": ""} in before["skills"]
        assert [skill["name"] for skill in before["skills"]] == ["new", "old"]
        assert [skill["name"] for skill in after["skills"]] == ["new", "bad", "old"]
        known = host.engine.commands.known
        assert [(known[name].trusted, known[name].grants) for name in ("bad", "old")] == [(False, ()), (False, ())]


_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"prompts": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "prompts/list": {"prompts": [{"name": "greet", "description": "Greets", "arguments": [{"name": "who"}]}]},
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text",
                        "text": "Greet " + str(asked.get("params", {}).get("arguments")) + " @there"}}]},
    }
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {"tools": []})}
        print(json.dumps(answer), flush=True)
"""


async def test_prompts_of_servers_are_commands(tmp_path: Path) -> None:
    program = put(tmp_path / "server.py", _SERVER)
    put(tmp_path / "project" / "there", "not to be read")
    servers = f'{{"mcpServers": {{"s": {{"command": "{sys.executable}", "args": ["{program}"]}}}}}}'
    async with stage(tmp_path, ONE, "--mcp-config", servers) as host:
        await host.turn("/mcp__s__greet Ann")
        assert last_prompt(host) == "Greet {'who': 'Ann'} @there"
        assert "mcp__s__greet" in host.of("system", "init")[0]["slash_commands"]


async def test_a_resumed_session_has_the_text_of_a_command(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/greet.md", "Say hi to $ARGUMENTS.")
    async with stage(tmp_path, ONE) as host:
        await host.turn("/greet Ann")
        id = host.engine.session.id
        said = last_blocks(host)
    async with stage(tmp_path, ONE, "--resume", id) as host:
        await host.turn("next")
        assert [block["text"] for block in host.model.asked[0]["messages"][0]["content"]] == said
