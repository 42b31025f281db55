"""Commands that control a session: requests to the CLI, results for the client, persisted settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.bridge.session.test_approvals import call, model_says
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")

ECHOES = """
    open(sys.argv[1] + ".argv", "a").write(" ".join(sys.argv) + chr(10))
    while True:
        heard = hear()
        say({"type": "system", "subtype": "asked", "request": heard["request"], "session_id": SESSION})
        answer(heard, {"added": ["one"], "removed": [], "errors": {}, "percentage": 12})
"""
SERVERS = {"one": {"command": "x"}}
ASKED: list[tuple[str, dict[str, Any], str, dict[str, Any], dict[str, Any]]] = [
    ("set_model", {"model": "opus"}, "set_model", {"model": "opus"}, {"model": "opus"}),
    ("set_permission_mode", {"mode": "plan"}, "set_permission_mode", {"mode": "plan"}, {"mode": "plan"}),
    ("set_thinking", {"tokens": 5}, "set_max_thinking_tokens", {"max_thinking_tokens": 5}, {}),
    ("set_effort", {"effort": "max"}, "apply_flag_settings", {"settings": {"effortLevel": "max"}}, {"effort": "max"}),
    ("mcp_reconnect", {"server": "s"}, "mcp_reconnect", {"serverName": "s"}, {}),
    ("mcp_toggle", {"server": "s", "enabled": False}, "mcp_toggle", {"serverName": "s", "enabled": False}, {}),
    ("mcp_set", {"servers": SERVERS}, "mcp_set_servers", {"servers": SERVERS}, {"added": ["one"], "errors": {}}),
    ("stop_task", {"task": "b1"}, "stop_task", {"task_id": "b1"}, {}),
    ("context_usage", {}, "get_context_usage", {}, {"percentage": 12}),
]


async def test_command_becomes_a_cli_request_and_returns_its_response(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ECHOES)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            for n, (name, fields, subtype, asked, expected) in enumerate(ASKED):
                result = await on.do(name, session=session, **fields)
                assert expected.items() <= result.items()
                await viewer.until(lambda n=n: len(viewer.frames("system")) > n)
                request = viewer.frames("system")[n]["request"]
                assert {key: value for key, value in request.items() if value is not None} == {
                    "subtype": subtype,
                    **asked,
                }


def started(cli: str) -> list[set[str]]:
    return [set(line.split()) for line in Path(f"{cli}.script.argv").read_text().splitlines()]


async def test_settings_survive_a_stop_and_can_be_changed_without_a_process(tmp_path: Path):
    cli = write_cli(tmp_path, ECHOES)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("set_model", session=session, model="opus")
        await on.do("stop", session=session)
        await on.do("set_thinking", session=session, tokens=1234)
        await on.do("set_permission_mode", session=session, mode="plan")
        await on.do("resume", session=session)
    words = started(cli)[1]
    assert {"--model=opus", "--max-thinking-tokens=1234", "--permission-mode=plan"} <= words


async def test_followers_receive_model_and_mode_changes(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ECHOES)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("set_model", session=session, model="opus")
            await on.do("stop", session=session)
            await on.do("set_permission_mode", session=session, mode="plan")
            await viewer.until(lambda: len(viewer.of("changed")) == 2)
            assert viewer.of("changed") == [{"model": "opus"}, {"mode": "plan"}]


async def test_mcp_servers_are_set_again_in_the_next_process(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ECHOES)) as on:
        session = await on.start()
        await on.do("mcp_set", session=session, servers=SERVERS)
        await on.do("stop", session=session)
        await on.do("resume", session=session)
        async with on.viewer(session) as viewer:
            await viewer.until(lambda: len(viewer.frames("system")) == 2)
            wanted = {"subtype": "mcp_set_servers", "servers": SERVERS}
            assert [line["request"] for line in viewer.frames("system")] == [wanted, wanted]


async def test_session_runs_when_the_cli_rejects_its_mcp_servers(tmp_path: Path):
    script = """
        while True:
            heard = hear()
            first = not os.path.exists(sys.argv[1] + ".refuses")
            open(sys.argv[1] + ".refuses", "w").close()
            answer(heard, {"added": [], "removed": [], "errors": {}}) if first else refuse(heard, "no servers today")
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        await on.do("mcp_set", session=session, servers=SERVERS)
        await on.do("stop", session=session)
        await on.do("resume", session=session)
        assert (await on.host(session)).state() == "idle"


async def test_rewind_requires_the_hash_of_a_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "work" / "a.txt"
    model_says(monkeypatch, call("Write", file_path=str(file), content="new"))
    async with stage(tmp_path) as on:
        session, uuid = await on.start(mode="acceptEdits"), str(uuid4())
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="write", uuid=uuid)
            await viewer.until_result()
            assert file.read_text() == "new"
            dry = await on.do("rewind", session=session, message=uuid)
            assert dry["filesChanged"] == [str(file)]
            assert file.read_text() == "new", "a dry run must not change files"
            for hash in ("", "0" * 64):
                with pytest.raises(Refused) as refused:
                    await on.do("rewind", session=session, message=uuid, dry_run=False, hash=hash)
                assert refused.value.code == "changed"
            await on.do("rewind", session=session, message=uuid, dry_run=False, hash=dry["hash"])
            assert not file.exists()
            (rewound,) = viewer.of("rewound")
            assert (rewound["message"], rewound["files"]) == (uuid, [str(file)])
            with pytest.raises(Refused) as refused:
                await on.do("rewind", session=session, message=str(uuid4()))
            assert refused.value.code == "cli"
