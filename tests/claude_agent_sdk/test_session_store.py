"""Stored sessions through the official names."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest

from handrail.claude_agent_sdk import ClaudeSDKClient, ClaudeSDKError, MirrorErrorMessage, query
from handrail.claude_agent_sdk import session_store as sdk
from handrail.claude_agent_sdk.session_types import SDKSessionInfo, SessionMessage
from handrail.claude_agent_sdk.testing import run_session_store_conformance
from tests.claude_agent_sdk.scripted import PATIENCE, scripted

ID, OTHER = "11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"
U = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(9)]


def line(type: str, uuid: str, parent: str | None, text: str, **fields: Any) -> Any:
    message = {"role": type, "content": [{"type": "text", "text": text}]}
    place = {"cwd": "/work", "gitBranch": "main", "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": ID}
    return {"type": type, "uuid": uuid, "parentUuid": parent, "message": message, **place, **fields}


ENTRIES = [
    line("user", U[1], None, "one"),
    line("assistant", U[2], U[1], "two"),
    line("user", U[3], U[2], "three"),
    line("assistant", U[4], U[3], "four"),
]
SUBAGENT: list[Any] = [
    {"type": "agent_metadata", "agentType": "general", "toolUseId": "toolu_1"},
    line("user", U[5], None, "look", isSidechain=True),
    line("assistant", U[6], U[5], "a mouse", isSidechain=True),
]


def key(session: str = ID, **more: str) -> Any:
    return {"project_key": sdk.project_key_for_directory("/work"), "session_id": session, **more}


@pytest.fixture
async def store() -> sdk.InMemorySessionStore:
    store = sdk.InMemorySessionStore()
    await store.append(key(), ENTRIES)
    await store.append(key(subpath="subagents/agent-x1"), SUBAGENT)
    await store.append(key(subpath="subagents/workflows/w/agent-x2"), [line("user", U[7], None, "deep")])
    await store.append(key(subpath="tool-results/file"), [{"type": "x"}])
    await store.append(key(OTHER), [line("user", U[8], None, "other")])
    return store


class Smallest:
    """The required methods only."""

    def __init__(self, inner: sdk.InMemorySessionStore) -> None:
        self.append, self.load = inner.append, inner.load


def texts(messages: list[SessionMessage]) -> list[str]:
    return [message.message["content"][0]["text"] for message in messages]


async def test_sessions_are_listed_newest_first(store: sdk.InMemorySessionStore):
    first, second = await sdk.list_sessions_from_store(store, "/work")
    assert (first.session_id, second.session_id) == (OTHER, ID)
    [listed] = [one for one in await store.list_sessions(key()["project_key"]) if one["session_id"] == ID]
    assert second == SDKSessionInfo(
        session_id=ID,
        summary="one",
        last_modified=listed["mtime"],
        first_prompt="one",
        git_branch="main",
        cwd="/work",
        created_at=1767225600000,
    )
    assert [one.session_id for one in await sdk.list_sessions_from_store(store, "/work", 1, 1)] == [ID]
    assert len(await sdk.list_sessions_from_store(store, "/work", limit=0)) == 2
    assert await sdk.list_sessions_from_store(store, "/elsewhere") == []


async def test_store_without_summaries_is_listed_by_loading(store: sdk.InMemorySessionStore):
    class Lists(Smallest):
        async def list_sessions(self, project_key: str) -> Any:
            return [{"session_id": ID, "mtime": 5}, {"session_id": str(uuid4()), "mtime": 9}]

    [info] = await sdk.list_sessions_from_store(Lists(store), "/work")  # type: ignore[arg-type]
    assert (info.session_id, info.last_modified) == (ID, 5)
    assert info.file_size


async def test_outdated_summary_is_not_used(store: sdk.InMemorySessionStore):
    class Outdated(sdk.InMemorySessionStore):
        async def list_session_summaries(self, project_key: str) -> Any:
            return [{"session_id": ID, "mtime": 1, "data": {"custom_title": "old"}}]

    outdated = Outdated()
    await outdated.append(key(), ENTRIES)
    assert [info.summary for info in await sdk.list_sessions_from_store(outdated, "/work")] == ["one"]


async def test_one_session_is_described(store: sdk.InMemorySessionStore):
    info = await sdk.get_session_info_from_store(store, ID, "/work")
    assert info is not None
    assert (info.summary, info.last_modified) == ("one", 1767225600000)
    assert await sdk.get_session_info_from_store(store, str(uuid4()), "/work") is None
    assert await sdk.get_session_info_from_store(store, "no id", "/work") is None


async def test_messages_are_read(store: sdk.InMemorySessionStore):
    messages = await sdk.get_session_messages_from_store(store, ID, "/work")
    assert texts(messages) == ["one", "two", "three", "four"]
    assert messages[0] == SessionMessage("user", U[1], ID, ENTRIES[0]["message"])
    assert texts(await sdk.get_session_messages_from_store(store, ID, "/work", 2, 1)) == ["two", "three"]
    assert await sdk.get_session_messages_from_store(store, str(uuid4()), "/work") == []
    assert await sdk.get_session_messages_from_store(store, "no id", "/work") == []


async def test_subagents_are_read(store: sdk.InMemorySessionStore):
    assert await sdk.list_subagents_from_store(store, ID, "/work") == ["x1", "x2"]
    messages = await sdk.get_subagent_messages_from_store(store, ID, "x1", "/work")
    assert texts(messages) == ["look", "a mouse"]
    assert {message.parent_tool_use_id for message in messages} == {"toolu_1"}
    assert texts(await sdk.get_subagent_messages_from_store(store, ID, "x2", "/work")) == ["deep"]
    for unknown in ("zz", "../x1", ""):
        assert await sdk.get_subagent_messages_from_store(store, ID, unknown, "/work") == []
    assert texts(await sdk.get_subagent_messages_from_store(Smallest(store), ID, "x1", "/work")) == ["look", "a mouse"]  # type: ignore[arg-type]


async def test_session_is_renamed_and_tagged(store: sdk.InMemorySessionStore):
    await sdk.rename_session_via_store(store, ID, " A title ", "/work")
    await sdk.tag_session_via_store(store, ID, " blue ", "/work")
    info = await sdk.get_session_info_from_store(store, ID, "/work")
    assert info is not None
    assert (info.summary, info.custom_title, info.tag) == ("A title", "A title", "blue")
    await sdk.tag_session_via_store(store, ID, None, "/work")
    info = await sdk.get_session_info_from_store(store, ID, "/work")
    assert info is not None
    assert info.tag is None
    for wrong in (
        sdk.rename_session_via_store(store, ID, "  ", "/work"),
        sdk.rename_session_via_store(store, "no id", "T", "/work"),
        sdk.tag_session_via_store(store, ID, " ", "/work"),
        sdk.tag_session_via_store(store, "no id", "t", "/work"),
        sdk.delete_session_via_store(store, "no id", "/work"),
    ):
        with pytest.raises(ValueError, match=r"visible character|not a session id"):
            await wrong


async def test_session_is_forked(store: sdk.InMemorySessionStore):
    await sdk.rename_session_via_store(store, ID, "A title", "/work")
    fork = (await sdk.fork_session_via_store(store, ID, "/work")).session_id
    assert texts(await sdk.get_session_messages_from_store(store, fork, "/work")) == ["one", "two", "three", "four"]
    info = await sdk.get_session_info_from_store(store, fork, "/work")
    assert info is not None
    assert info.summary == "A title (fork)"
    assert {entry["sessionId"] for entry in store.get_entries(key(fork))} == {fork}  # type: ignore[typeddict-item]
    part = (await sdk.fork_session_via_store(store, ID, "/work", up_to_message_id=U[2], title="Part")).session_id
    assert texts(await sdk.get_session_messages_from_store(store, part, "/work")) == ["one", "two"]
    with pytest.raises(ValueError, match="no entry"):
        await sdk.fork_session_via_store(store, ID, "/work", up_to_message_id=str(uuid4()))
    with pytest.raises(FileNotFoundError, match="no session"):
        await sdk.fork_session_via_store(store, str(uuid4()), "/work")


async def test_session_is_deleted(store: sdk.InMemorySessionStore, caplog: pytest.LogCaptureFixture):
    await sdk.delete_session_via_store(store, ID, "/work")
    assert [info.session_id for info in await sdk.list_sessions_from_store(store, "/work")] == [OTHER]
    assert await store.load(key(subpath="subagents/agent-x1")) is None
    caplog.set_level(logging.WARNING)
    await sdk.delete_session_via_store(Smallest(store), OTHER, "/work")  # type: ignore[arg-type]
    assert f"Smallest lacks delete(), so session {OTHER} is still stored" in caplog.text


async def test_missing_optional_method_is_named(store: sdk.InMemorySessionStore):
    with pytest.raises(ValueError, match=r"Smallest implements neither list_session_summaries\(\) nor list_sessions"):
        await sdk.list_sessions_from_store(Smallest(store), "/work")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Smallest does not implement list_subkeys\(\)"):
        await sdk.list_subagents_from_store(Smallest(store), ID, "/work")  # type: ignore[arg-type]


async def test_session_of_this_machine_is_imported(own_home: Path, caplog: pytest.LogCaptureFixture):
    project = own_home / ".claude" / "projects" / sdk.project_key_for_directory("/work")
    (project / ID / "subagents").mkdir(parents=True)
    lines = [*map(json.dumps, ENTRIES)]
    (project / f"{ID}.jsonl").write_text("\n".join([*lines[:2], "damaged", "", *lines[2:]]) + '\n{"type":"cut')
    (project / ID / "subagents" / "agent-x1.jsonl").write_text("".join(json.dumps(e) + "\n" for e in SUBAGENT[1:]))
    about = {name: value for name, value in SUBAGENT[0].items() if name != "type"}
    (project / ID / "subagents" / "agent-x1.meta.json").write_text(json.dumps(about))

    class Counting(sdk.InMemorySessionStore):
        sizes: list[int] = []

        async def append(self, key: Any, entries: Any) -> None:
            self.sizes.append(len(entries))
            await super().append(key, entries)

    store = Counting()
    await sdk.import_session_to_store(ID, store, directory="/work", batch_size=3)
    assert store.get_entries(key()) == ENTRIES
    assert store.get_entries(key(subpath="subagents/agent-x1")) == SUBAGENT
    assert store.sizes == [3, 1, 3]
    assert caplog.text.count("was not imported") == 2
    alone = sdk.InMemorySessionStore()
    await sdk.import_session_to_store(ID, alone, include_subagents=False)
    assert await alone.list_subkeys(key()) == []
    for arguments in ({"session_id": str(uuid4())}, {"session_id": ID, "directory": "/elsewhere"}):
        with pytest.raises(FileNotFoundError, match="no session"):
            await sdk.import_session_to_store(store=store, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a session id"):
        await sdk.import_session_to_store("no id", store)


async def test_conformance_suite_has_its_official_name():
    async def make() -> sdk.InMemorySessionStore:
        return sdk.InMemorySessionStore()

    class WrongTimes(sdk.InMemorySessionStore):
        async def list_sessions(self, project_key: str) -> Any:
            return [{**one, "mtime": 0} for one in await super().list_sessions(project_key)]

    await run_session_store_conformance(make)
    with pytest.raises(AssertionError, match="mtime"):
        await run_session_store_conformance(WrongTimes)
    await run_session_store_conformance(WrongTimes, skip_optional=frozenset({"list_sessions"}))


def test_options_of_the_store_become_those_of_handrail():
    store = sdk.InMemorySessionStore()
    assert sdk.store_options(None, "eager", 5) == {}
    assert sdk.store_options(store, "eager", 2500) == {
        "session_store": store,
        "session_store_flush": "eager",
        "session_store_load_timeout": 2.5,
    }


# With a session

MIRRORS = f"""
import os
said = prompt()
home = os.environ.get("CLAUDE_CONFIG_DIR", "/home/me/.claude")
path = home + "/projects/{sdk.project_key_for_directory("/")}/{ID}.jsonl"
say({{"type": "transcript_mirror", "filePath": path, "entries": [{{"type": "user", "uuid": said}}]}})
resumed = [open(path).read()] if os.path.exists(path) else []
say(result({{"resumed": resumed, "argv": sys.argv[2:]}}))
"""
KEY: Any = {"project_key": sdk.project_key_for_directory("/"), "session_id": ID}


async def asked(folder: Path, store: Any, prompt: str = "Hi", **options: Any) -> list[Any]:
    given = scripted(folder, MIRRORS, session_store=store, cwd="/", **options)
    return [message async for message in query(prompt=prompt, options=given)]


class Checked(sdk.InMemorySessionStore):
    """Fails if it is called outside of the loop of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[str] = []

    async def append(self, key: Any, entries: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.called.append(f"append in {threading.current_thread().name}")
        await super().append(key, entries)

    async def load(self, key: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        self.called.append(f"load in {threading.current_thread().name}")
        return await super().load(key)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_session_is_stored_and_resumed_in_either_loop(tmp_path: Path, backend: str):
    store = Checked()

    async def main() -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            await asked(tmp_path, store, "first")
            messages = await asked(tmp_path, store, "second", resume=ID)
        return json.loads(messages[-1].result)

    found = anyio.run(main, backend=backend)
    assert [json.loads(line)["uuid"] for line in found["resumed"][0].splitlines()] == ["first"]
    assert {"--session-mirror", f"--resume={ID}"} <= {*found["argv"]}
    assert [entry["uuid"] for entry in store.get_entries(KEY)] == ["first", "second"]
    assert store.called == ["append in MainThread", "load in MainThread", "append in MainThread"]


async def test_failing_store_is_reported_as_a_message(tmp_path: Path):
    class Failing(sdk.InMemorySessionStore):
        async def append(self, key: Any, entries: Any) -> None:
            raise OSError("disk full")

    script = MIRRORS.replace("say(result(", "hear()\nsay(result(")
    given = scripted(tmp_path, script, session_store=Failing(), session_store_flush="eager", cwd="/")
    found: list[MirrorErrorMessage] = []
    async with asyncio.timeout(PATIENCE), ClaudeSDKClient(given) as client:
        await client.query("Hi")
        async for message in client.receive_response():
            if isinstance(message, MirrorErrorMessage):
                found.append(message)
                await client.query("go on")
    [error] = found
    assert (error.key, error.data["subtype"]) == (KEY, "mirror_error")
    assert "OSError: disk full" in error.error


async def test_store_that_cannot_be_loaded_ends_the_start(tmp_path: Path):
    class Hanging(sdk.InMemorySessionStore):
        async def load(self, key: Any) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match=r"load\(\) for session .* did not finish within 0\.05 s") as caught:
        await asked(tmp_path, Hanging(), resume=ID, load_timeout_ms=50)
    assert isinstance(caught.value, ClaudeSDKError)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"session_store": object()}, "this object lacks the method append"),
        ({"session_store": sdk.InMemorySessionStore(), "enable_file_checkpointing": True}, "checkpoints"),
        ({"session_store": Smallest(sdk.InMemorySessionStore()), "continue_conversation": True}, "list_sessions"),
    ],
)
async def test_wrong_options_are_value_errors(options: dict[str, Any], text: str, tmp_path: Path):
    with pytest.raises(ValueError, match=text):
        await asked(tmp_path, options.pop("session_store"), **options)
