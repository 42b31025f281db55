"""What a CLI says of itself, and what is told where it says nothing."""

from __future__ import annotations

from pathlib import Path

from handrail.bridge.session.about import listed_hooks
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

LISTS = """
    def hear_with_more():
        line = json.loads(sys.stdin.buffer.readline())
        answer(line, {"commands": [{"name": "deploy", "description": "d", "argumentHint": "[where]"}],
            "agents": [{"name": "Explore"}], "models": "no list", "claude_code_version": "9.9", "pid": 7,
            "account": {"apiKeySource": "ANTHROPIC_API_KEY", "token": "sekret", "email": 3},
            "output_style": "Concise", "available_output_styles": ["default", "Concise"], "fast_mode_state": "off"})
    hear_with_more()
    while True:
        heard = hear()
        if heard["request"]["subtype"] == "get_hooks_listing":
            answer(heard, {"hooks": [{"event": "PreToolUse", "matcher": "Bash", "type": "command",
                "commandText": "check --token=abcdefghijkl API_TOKEN=verysecret1", "source": "projectSettings"}]})
        else:
            refuse(heard, "no", error_code="unsupported_request")
"""


async def test_it_is_asked_while_it_runs_and_remembered_afterwards(tmp_path: Path):
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / ".git" / "HEAD").write_text("ref: refs/heads/peas\n")
    async with stage(tmp_path, write_cli(tmp_path, LISTS)) as on:
        session = await on.start(effort="high")
        about = await on.do("about", session=session)
        assert (about["running"], about["version"], about["branch"], about["cli"]) == (True, "9.9", "peas", "agent")
        assert about["commands"] == [{"name": "deploy", "description": "d", "argumentHint": "[where]"}]
        assert (about["models"], about["output_styles"]) == ([], ["default", "Concise"])
        assert about["account"] == {"apiKeySource": "ANTHROPIC_API_KEY"}
        assert (about["effort"], about["thinking_tokens"], about["fast_mode_state"]) == ("high", None, "off")
        [hook] = about["hooks"]
        assert (hook["event"], hook["matcher"], hook["source"]) == ("PreToolUse", "Bash", "projectSettings")
        assert "verysecret1" not in hook["command"]
        await on.do("stop", session=session)
        later = await on.do("about", session=session)
        assert later == {**about, "running": False}


async def test_what_is_known_of_another_folder_counts_but_not_its_hooks(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, LISTS)) as on:
        nothing_yet = await on.start(cwd=tmp_path / "one")
        await on.do("stop", session=nothing_yet)
        before = await on.do("about", session=nothing_yet)
        assert (before["commands"], before["hooks"], before["running"], before["branch"]) == ([], [], False, "")
        asked = await on.start(cwd=tmp_path / "two")
        await on.do("about", session=asked)
        after = await on.do("about", session=nothing_yet)
        assert (len(after["commands"]), after["hooks"]) == (1, [])


async def test_our_agent_tells_of_itself(tmp_path: Path):
    async with stage(tmp_path) as on:
        about = await on.do("about", session=await on.start())
        assert about["running"]
        assert all(about[name] for name in ("commands", "agents", "models", "output_styles", "version", "account"))


async def test_to_ask_leaves_no_receipt_behind(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        await on.do("about", session=session, id="one")
        assert await on.bridge.sessions.events.receipt("d/one") is None


def test_hooks_of_any_shape_are_read_without_trouble():
    assert listed_hooks(None) == listed_hooks("x") == listed_hooks([1, None]) == []
    empty = {"event": "Stop", "matcher": "", "type": "command", "command": "", "source": ""}
    assert listed_hooks([{"event": "Stop", "matcher": None, "commandText": 3}]) == [empty]
