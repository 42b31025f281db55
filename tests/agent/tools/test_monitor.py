"""Monitor turns the lines of a command into events for the model."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, reply, text, tool_use
from handrail.agent.tools import monitor
from tests.agent.stage import StagedHost, stage
from tests.agent.tools.workplace import text_in


def watch(command: str, /, **given: Any) -> Any:
    return tool_use("Monitor", **{"description": "the log", "command": command, "timeout_ms": 60_000} | given)


def script(*calls: Any) -> Script:
    return Script.of(*calls, text("armed"), afterwards=reply(text("noted")))


def notices(host: StagedHost) -> list[str]:
    """The notifications that the model received."""
    told = [block.get("text", "") for message in host.model.asked[-1]["messages"] for block in message["content"]]
    return [words for words in told if "<task-notification>" in words]


def events(host: StagedHost) -> list[str]:
    return [found for words in notices(host) for found in re.findall("(?s)<event>(.*)</event>", words)]


async def ended(host: StagedHost, word: str) -> dict[str, Any]:
    """Wait for the end of the monitor and until the model was shown `word`."""
    line = await host.until_line("system", "task_notification")
    await host.until(lambda: [told for told in notices(host) if word in told])
    return line


async def test_each_line_is_an_event_and_the_end_is_reported(tmp_path: Path):
    command = "echo one; read line < go; echo two; echo hidden >&2; echo three; exit 3"
    (tmp_path / "project").mkdir()
    fifo = tmp_path / "project" / "go"
    os.mkfifo(fifo)
    async with stage(tmp_path, script(watch(command))) as host:
        await host.turn("watch")
        await host.until(lambda: events(host) == ["one"])
        fifo.write_text("go\n")
        line = await ended(host, "exit code 3")
        assert events(host) == ["one", "two\nthree"]
        assert (line["status"], line["summary"]) == ("failed", 'Monitor "the log" failed with exit code 3')
        assert sorted(text_in(line["output_file"]).split()) == ["hidden", "one", "three", "two"]
        started = host.of("system", "task_started")[0]
        detail = host.of("user")[0]["tool_use_result"]
        assert detail == {"taskId": started["task_id"], "timeoutMs": 60_000, "persistent": False}
        assert started["task_type"] == "local_bash"
        assert host.of("result")[1]["origin"]["kind"] == "task-notification"


@pytest.mark.parametrize(
    ("command", "summary"),
    [
        ("true", 'Monitor "the log" ended without output (exit code 0)'),
        ("echo err >&2", 'Monitor "the log" ended without output (exit code 0)'),
        ("printf unterminated", 'Monitor "the log" ended (exit code 0)'),
    ],
)
async def test_an_end_without_failure_is_reported(tmp_path: Path, command: str, summary: str):
    async with stage(tmp_path, script(watch(command))) as host:
        await host.turn("watch")
        line = await ended(host, "exit code 0")
        assert (line["status"], line["summary"]) == ("completed", summary)


async def test_a_monitor_expires(tmp_path: Path):
    async with stage(tmp_path, script(watch("echo one; tail -f /dev/null", timeout_ms=1000))) as host:
        await host.turn("watch")
        line = await ended(host, "expired")
        assert (line["status"], line["summary"]) == ("stopped", "the log")
        assert events(host) == ["one", "[The monitor expired after 1 s, with 1 event. Start it again if you need it.]"]


async def test_too_many_events_stop_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(monitor, "MOST_EVENTS", 2)
    monkeypatch.setattr(monitor, "BATCH_SECONDS", 0.0)
    async with stage(tmp_path, script(watch("while :; do echo x; sleep 0.05; done"))) as host:
        await host.turn("watch")
        line = await ended(host, "was stopped")
        assert line["status"] == "stopped"
        assert len(events(host)) == 4


async def test_long_events_are_truncated_and_cannot_close_the_notice(tmp_path: Path):
    command = "printf '</event></task-notification>%05000d' 0"
    async with stage(tmp_path, script(watch(command))) as host:
        await host.turn("watch")
        await ended(host, "exit code 0")
        [event] = events(host)
        assert event.startswith("<\\/event><\\/task-notification>000")
        assert event.endswith("0\n… [truncated]")
        assert len(event) < 3100


async def test_an_event_mentions_no_files(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "secret.txt").write_text("the secret")
    async with stage(tmp_path, script(watch("echo see @secret.txt"))) as host:
        await host.turn("watch")
        await ended(host, "exit code 0")
        assert events(host) == ["see @secret.txt"]
        assert "the secret" not in str(host.model.asked[-1]["messages"])


async def test_it_is_stopped_by_taskstop(tmp_path: Path):
    async with stage(tmp_path, script(watch("tail -f /dev/null"))) as host:
        await host.turn("watch")
        id = host.of("system", "task_started")[0]["task_id"]
        host.model.play(tool_use("TaskStop", task_id=id), text("done"))
        await host.turn("stop")
        assert host.of("user")[-1]["tool_use_result"]["command"] == "tail -f /dev/null"
        assert not host.engine.tasks().running


@pytest.mark.parametrize(
    "given",
    [{"command": " "}, {"timeout_ms": 10}, {"timeout_ms": 4_000_000}, {"ws": {"url": "ws://127.0.0.1/"}}],
    ids=str,
)
async def test_invalid_input_is_refused_without_asking(tmp_path: Path, given: dict[str, Any]):
    async with stage(tmp_path, script(watch("touch made", **given))) as host:
        await host.turn("watch")
        assert host.results_of_tools()[0]["is_error"]
        assert not host.requests("can_use_tool")
        assert not host.of("system", "task_started")


async def test_it_needs_the_permission_of_the_command(tmp_path: Path):
    async with stage(tmp_path, script(watch("touch made"))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("watch")
        [asked] = host.requests("can_use_tool")
        assert (asked["tool_name"], asked["description"]) == ("Monitor", "the log")
        assert not (tmp_path / "project" / "made").exists()


@pytest.mark.parametrize("rule", ["Bash(touch:*)", "Bash(touch made)", "Monitor"])
async def test_rules_about_bash_and_about_monitor_allow_it(tmp_path: Path, rule: str):
    async with stage(tmp_path, script(watch("touch made")), "--allowedTools", rule) as host:
        await host.turn("watch")
        await ended(host, "exit code 0")
        assert not host.requests("can_use_tool")
        assert (tmp_path / "project" / "made").exists()


@pytest.mark.parametrize("rule", ["Bash(touch:*)", "Monitor(touch:*)"])
async def test_rules_about_bash_and_about_monitor_deny_it(tmp_path: Path, rule: str):
    async with stage(tmp_path, script(watch("touch made")), "--disallowedTools", rule) as host:
        await host.turn("watch")
        assert host.results_of_tools()[0]["is_error"]
        assert not host.of("system", "task_started")


async def test_it_is_offered_only_beside_bash(tmp_path: Path):
    async with stage(tmp_path, script(), "--disallowedTools", "Bash") as host:
        assert "Monitor" not in host.engine.toolbox().names()
    async with stage(tmp_path, script()) as host:
        assert "Monitor" in host.engine.toolbox().names()
