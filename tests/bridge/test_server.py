"""The bridge without its sockets: folders, trust, imported sessions, forks, the audit log."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.configuration import Configuration
from handrail.bridge.errors import DataFolderTaken
from handrail.bridge.server import Bridge
from handrail.model_access.choice import CliChoice
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli
from tests.transcripts.conversation import Conversation

ANSWERS = """
    while True:
        say(result(prompt()))
"""
ARGV = 'open("{path}", "a").write(" ".join(sys.argv) + chr(10))\nwhile True:\n    say(result(prompt()))'


def started(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


OUTSIDE = ["/", "/proc/self/root", "relative", "{}/work/../../..", "{}_evil", "{}/none", "{}/file", "{}/out", "$(id)"]


async def test_folder_outside_the_roots_is_refused(tmp_path: Path):
    root = tmp_path / "root"
    (root / "work").mkdir(parents=True)
    (tmp_path / "root_evil").mkdir()
    (root / "file").touch()
    (root / "out").symlink_to("/usr")
    async with stage(root, write_cli(tmp_path, ANSWERS)) as on:
        for folder in OUTSIDE:
            with pytest.raises(Refused) as refused:
                await on.do("start", cwd=folder.format(root))
            assert refused.value.code == "bad_folder"
        assert await on.bridge.sessions.index.list() == []


async def test_bypass_mode_is_refused_unless_the_server_enables_it(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        with pytest.raises(Refused, match="not enabled"):
            await on.start(mode="bypassPermissions")
        session = await on.start()
        with pytest.raises(Refused, match="not enabled"):
            await on.do("set_permission_mode", session=session, mode="bypassPermissions")


@pytest.mark.parametrize("chosen", [{"mode": "acceptEdits"}, {"mode": "dontAsk"}, {"plugin_dirs": ["{}"]}])
async def test_prompt_scope_cannot_choose_permissive_options(tmp_path: Path, chosen: dict[str, Any]):
    fields = json.loads(json.dumps(chosen).replace("{}", str(tmp_path)))
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        with pytest.raises(Refused, match="needs? the scope") as refused:
            await on.start(scopes=frozenset({"view", "prompt"}), **fields)
        assert refused.value.code == "forbidden"
        await on.start(scopes=frozenset({"view", "prompt"}), mode="plan")


# Trust


def hostile(folder: Path, command: str = "touch pwned") -> Path:
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    return folder


async def test_untrusted_folder_uses_only_user_settings(tmp_path: Path):
    folder, argv = hostile(tmp_path / "clone"), tmp_path / "argv"
    async with stage(tmp_path, write_cli(tmp_path, ARGV.format(path=argv))) as on:
        answer = await on.do("start", cwd=str(folder))
        session, trust = answer["session"]["id"], answer["trust"]
        assert not answer["session"]["trusted"]
        assert "--setting-sources=user" in started(argv)[0]
        assert any("touch pwned" in item["text"] for item in trust["items"])
        with pytest.raises(Refused) as refused:
            await on.do("accept_trust", session=session, digest="0" * 64)
        assert refused.value.code == "changed"
        accepted = await on.do("accept_trust", session=session, digest=trust["digest"])
        assert accepted["session"]["trusted"]
        await on.do("resume", session=session)
        assert "--setting-sources=user,project,local" in started(argv)[1]


async def test_changed_files_invalidate_trust(tmp_path: Path):
    folder, argv = hostile(tmp_path / "clone"), tmp_path / "argv"
    async with stage(tmp_path, write_cli(tmp_path, ARGV.format(path=argv))) as on:
        answer = await on.do("start", cwd=str(folder))
        session, digest = answer["session"]["id"], answer["trust"]["digest"]
        hostile(folder, "touch worse")
        with pytest.raises(Refused, match="have changed since they were shown"):
            await on.do("accept_trust", session=session, digest=digest)
        hostile(folder)
        await on.do("accept_trust", session=session, digest=digest)
        hostile(folder, "touch worse")
        resumed = await on.do("resume", session=session)
        assert "--setting-sources=user" in started(argv)[-1]
        assert not resumed["session"]["trusted"]
        assert resumed["trust"]["digest"] != digest


async def test_trust_is_requested_when_files_change_between_runs(tmp_path: Path):
    argv = tmp_path / "argv"
    async with stage(tmp_path, write_cli(tmp_path, ARGV.format(path=argv))) as on:
        session = await on.start()
        await on.do("stop", session=session)
        hostile(tmp_path / "work")
        assert (await on.do("resume", session=session))["trust"] is not None
        assert "--setting-sources=user,project,local" in started(argv)[0]
        assert "--setting-sources=user" in started(argv)[1]


# Imported sessions


def terminal_session(tmp_path: Path) -> Conversation:
    (tmp_path / "garden").mkdir(exist_ok=True)
    cwd = str(tmp_path / "garden")
    talk = Conversation(Path.home() / ".claude", project=re.sub("[^A-Za-z0-9]", "-", cwd))
    talk.user("Plant a tree", cwd=cwd)
    talk.assistant("Planted.", cwd=cwd)
    return talk


async def test_terminal_session_is_imported_once(tmp_path: Path):
    talk, argv = terminal_session(tmp_path), tmp_path / "argv"
    async with stage(tmp_path, write_cli(tmp_path, ARGV.format(path=argv))) as on:
        assert [info.id for info in await on.bridge.terminal.list()] == [talk.id]
        await asyncio.gather(*(on.do("resume", session=talk.id) for _ in range(4)))
        async with on.viewer(talk.id) as viewer:
            await viewer.until_state("idle")
            assert len([line for line in viewer.of("frame") if line.get("imported")]) == 2
            assert viewer.frames("assistant")[0]["message"]["content"][0]["text"] == "Planted."
            assert viewer.of("crashed") == []
        assert [f"--resume={talk.id}" in line for line in started(argv)] == [True]
        assert [hit.session for hit in await on.bridge.sessions.events.search("tree")] == [talk.id]


async def test_interrupted_import_is_completed_without_duplicates(tmp_path: Path):
    talk = terminal_session(tmp_path)
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        _, past = await on.bridge.terminal.import_session(talk.id)
        await on.bridge.sessions.events.append(talk.id, past)  # the import was killed here
        host = await on.bridge.imports.get(talk.id)
        assert host.seq == len(past)


async def test_deleted_session_can_be_imported_again(tmp_path: Path):
    talk = terminal_session(tmp_path)
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        await on.do("resume", session=talk.id)
        await on.do("delete", session=talk.id)
        await on.do("resume", session=talk.id)
        async with on.viewer(talk.id) as viewer:
            await viewer.until_state("idle")
            assert viewer.frames("assistant")[0]["message"]["content"][0]["text"] == "Planted."


async def test_unknown_session_and_session_outside_the_roots_are_refused(tmp_path: Path):
    talk = terminal_session(tmp_path)
    (tmp_path / "root").mkdir()
    async with stage(tmp_path / "root", write_cli(tmp_path, ANSWERS)) as on:
        for session, code in ((talk.id, "bad_folder"), ("00000000-0000-4000-8000-00000000ffff", "not_found")):
            with pytest.raises(Refused) as refused:
                await on.do("resume", session=session)
            assert refused.value.code == code
        assert await on.bridge.sessions.index.list() == []


async def test_continue_resumes_the_newest_session_of_the_folder(tmp_path: Path):
    talk = terminal_session(tmp_path)
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        with pytest.raises(Refused) as refused:
            await on.do("continue", cwd=str(tmp_path))
        assert refused.value.code == "not_found"
        assert (await on.do("continue", cwd=str(tmp_path / "garden")))["session"]["id"] == talk.id
        session = await on.start(cwd=tmp_path / "garden")
        answer = await on.do("continue", cwd=str(tmp_path / "garden"))
        assert (answer["session"]["id"], answer["trust"]) == (session, None)


async def test_fork_copies_the_history_up_to_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = {
        "replies": [{"when": {"prompt": text}, "blocks": [{"type": "text", "text": f"on {text}"}]} for text in "abc"],
        "helper": None,
    }
    monkeypatch.setenv("HANDRAIL_SCRIPT", json.dumps(script))
    async with stage(tmp_path) as on:
        session = await on.start()
        with pytest.raises(Refused) as refused:
            await on.do("fork", session=session)
        assert refused.value.code == "empty"
        async with on.viewer(session) as viewer:
            for n, text in enumerate("ab"):
                await on.do("send", session=session, text=text)
                await viewer.until_result(n + 1)
            at = viewer.frames("assistant")[0]["uuid"]
        fork = (await on.do("fork", session=session, at=at, prompt="c"))["session"]
        assert fork["id"] != session
        assert fork["title"] == "a (fork)"
        async with on.viewer(fork["id"]) as viewer:
            assert (await viewer.until_result())["result"] == "on c"
            past = [line for line in viewer.of("frame") if line.get("imported")]
            assert [(line["type"], line["uuid"] == at) for line in past] == [("user", False), ("assistant", True)]
            assert viewer.of("doubted") == []
            await on.do("stop", session=fork["id"])
            await on.do("send", session=fork["id"], text="a")
            assert (await viewer.until_result(2))["result"] == "on a"
        past = [info for info in await on.bridge.terminal.list() if info.id == fork["id"]]
        text = past[0].path.read_text()
        assert "on a" in text
        assert "on b" not in text


async def test_fork_keeps_settings_but_not_the_permission_mode(tmp_path: Path):
    argv = tmp_path / "argv"
    async with stage(tmp_path, write_cli(tmp_path, ARGV.format(path=argv))) as on:
        session = await on.start(model="opus", max_turns=3, add_dirs=[str(tmp_path)], mode="acceptEdits")
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="hello")
            await viewer.until_result()
        fork = (await on.do("fork", session=session, scopes=frozenset({"prompt"})))["session"]
        assert (fork["mode"], fork["title"]) == ("default", "hello (fork)")
        first, second = started(argv)
        assert {"--model=opus", "--max-turns=3", f"--add-dir={tmp_path}"} <= set(first) & set(second)
        assert "--permission-mode=acceptEdits" in first
        assert "--permission-mode=default" in second


async def test_session_starts_with_protocol_and_user_options(tmp_path: Path):
    argv, plugin = tmp_path / "argv", tmp_path / "plugin"
    plugin.mkdir()
    chosen: dict[str, Any] = {"model": "opus", "mode": "plan", "effort": "high", "max_turns": 7, "max_budget_usd": 2.5}
    folders = {"add_dirs": [str(tmp_path)], "plugin_dirs": [str(plugin)]}
    async with stage(tmp_path, write_cli(tmp_path, ARGV.format(path=argv))) as on:
        await on.start(**chosen, **folders)
    [words] = started(argv)
    assert {"--include-partial-messages", "--permission-prompt-tool=stdio", "--replay-user-messages"} <= set(words)
    assert {"--model=opus", "--permission-mode=plan", "--effort=high", "--max-turns=7"} <= set(words)
    assert {"--max-budget-usd=2.5", f"--add-dir={tmp_path}", f"--plugin-dir={plugin}"} <= set(words)


# Audit log and damaged stores


async def test_audit_log_names_the_device_of_each_answer(tmp_path: Path):
    script = """
        prompt()
        ask("can_use_tool", **permission(command="ls"))
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            asked = await viewer.until_kind("asked")
            await on.answer(session, asked, device="phone", input={"command": "ls -l"})
            await viewer.until_result()
        await on.do("set_permission_mode", session=session, mode="plan", device="laptop")
        rows = await on.bridge.audit.list()
        logged = [(row["by"], row["what"], row.get("edited"), row.get("hash")) for row in rows]
        assert logged == [("laptop", "set_permission_mode", None, None), ("phone", "answer", True, asked["hash"])]


def test_second_server_is_refused_and_damaged_store_is_moved_aside(tmp_path: Path):
    configured = Configuration(cli=CliChoice.fixed("x"), data=tmp_path / "data", roots=(tmp_path,))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "handrail.db").write_bytes(b"no database " * 200)

    async def run() -> None:
        async with Bridge(configured) as bridge:
            assert "is damaged" in bridge.damage
            (kept,) = (tmp_path / "data").glob("handrail.db.corrupt-*")
            assert kept.read_bytes().startswith(b"no database")
            with pytest.raises(DataFolderTaken, match="in use by process"):
                Bridge(configured)

    asyncio.run(run())
