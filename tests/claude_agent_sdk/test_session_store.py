"""Stored sessions through the official names."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from handrail.claude_agent_sdk import session_store as sdk
from handrail.claude_agent_sdk.session_types import SDKSessionInfo, SessionMessage
from handrail.claude_agent_sdk.testing import run_session_store_conformance

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
