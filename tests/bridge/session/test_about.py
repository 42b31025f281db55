"""What a CLI reports about itself, and the answer without a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.bridge.session.about import listed_hooks
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

DEPLOY = {"name": "deploy", "description": "d", "argumentHint": "[where]"}
LISTS = """
    def report():
        line = json.loads(sys.stdin.buffer.readline())
        answer(line, {"commands": [{"name": "deploy", "description": "d", "argumentHint": "[where]"}],
            "agents": [{"name": "Explore"}], "models": "no list", "claude_code_version": "9.9", "pid": 7,
            "account": {"apiKeySource": "ANTHROPIC_API_KEY", "token": "sekret", "email": 3},
            "output_style": "Concise", "available_output_styles": ["default", "Concise"], "fast_mode_state": "off"})
    report()
    while True:
        heard = hear()
        if heard["request"]["subtype"] == "get_hooks_listing":
            answer(heard, {"hooks": [{"event": "PreToolUse", "matcher": "Bash", "type": "command",
                "commandText": "check --token=abcdefghijkl API_TOKEN=verysecret1", "source": "projectSettings"}]})
        else:
            refuse(heard, "no", error_code="unsupported_request")
"""


async def test_running_cli_is_asked_and_its_answer_remembered(tmp_path: Path):
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / ".git" / "HEAD").write_text("ref: refs/heads/peas\n")
    async with stage(tmp_path, write_cli(tmp_path, LISTS)) as on:
        session = await on.start(effort="high")
        about = await on.do("about", session=session)
        assert (about["running"], about["version"], about["branch"], about["cli"]) == (True, "9.9", "peas", "agent")
        assert about["commands"] == [DEPLOY]
        assert (about["models"], about["output_styles"]) == ([], ["default", "Concise"])
        assert about["account"] == {"apiKeySource": "ANTHROPIC_API_KEY"}
        assert (about["effort"], about["thinking_tokens"], about["fast_mode_state"]) == ("high", None, "off")
        [hook] = about["hooks"]
        assert (hook["event"], hook["matcher"], hook["source"]) == ("PreToolUse", "Bash", "projectSettings")
        assert "verysecret1" not in hook["command"]
        await on.do("stop", session=session)
        later = await on.do("about", session=session)
        assert later == {**about, "running": False}


NAMES_MORE = """
    answer(json.loads(sys.stdin.buffer.readline()), {"commands": [
        {"name": "deploy", "description": "d", "argumentHint": "[where]"}, "odd", {"name": 3}]})
    def take():
        while (heard := hear())["type"] != "user":
            refuse(heard, "no", error_code="unsupported_request")
        uuids[:] = [heard["uuid"]]
        return heard["message"]["content"]
    def init(*names):
        say({"type": "system", "subtype": "init", "session_id": SESSION, "model": "m", "slash_commands": names})
    while True:
        text = take()
        if text == "connect":
            init("deploy", "mcp__notes__summary", "deploy", "mcp__notes__summary")
        elif text == "replace":
            say({"type": "system", "subtype": "commands_changed", "session_id": SESSION, "commands": [
                {"name": "mcp__notes__summary", "description": "of all notes", "argumentHint": ""}]})
        say(result(text))
"""


def undescribed(name: str) -> dict[str, Any]:
    return {"name": name, "description": "", "argumentHint": ""}


async def test_commands_named_only_in_init_are_listed(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, NAMES_MORE)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            assert (await on.do("about", session=session))["commands"] == [DEPLOY], "entries without a name are dropped"
            await on.do("send", session=session, text="connect")
            await viewer.until_result()
            connected = [DEPLOY, undescribed("mcp__notes__summary")]
            assert (await on.do("about", session=session))["commands"] == connected
            await on.do("send", session=session, text="replace")
            await viewer.until_result(2)
            about = await on.do("about", session=session)
            listed = [(one["name"], one["description"]) for one in about["commands"]]
            assert listed == [("mcp__notes__summary", "of all notes"), ("deploy", "")]
            await on.do("stop", session=session)
            assert (await on.do("about", session=session))["commands"] == about["commands"]


async def test_other_folder_provides_commands_but_no_hooks(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, LISTS)) as on:
        never_asked = await on.start(cwd=tmp_path / "one")
        await on.do("stop", session=never_asked)
        before = await on.do("about", session=never_asked)
        assert (before["commands"], before["hooks"], before["running"], before["branch"]) == ([], [], False, "")
        asked = await on.start(cwd=tmp_path / "two")
        await on.do("about", session=asked)
        after = await on.do("about", session=never_asked)
        assert (len(after["commands"]), after["hooks"]) == (1, [])


async def test_agent_describes_itself(tmp_path: Path):
    async with stage(tmp_path) as on:
        about = await on.do("about", session=await on.start())
        assert about["running"]
        assert all(about[name] for name in ("commands", "agents", "models", "output_styles", "version", "account"))


async def test_about_stores_no_receipt(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        await on.do("about", session=session, id="one")
        assert await on.bridge.sessions.events.receipt("d/one") is None


def test_hooks_of_any_shape_are_accepted():
    assert listed_hooks(None) == listed_hooks("x") == listed_hooks([1, None]) == []
    empty = {"event": "Stop", "matcher": "", "type": "command", "command": "", "source": ""}
    assert listed_hooks([{"event": "Stop", "matcher": None, "commandText": 3}]) == [empty]
