"""Sessions that `claude` and `handrail-agent` share: written by one, continued, forked, listed and read by the other.

No test sets CLAUDE_CONFIG_DIR: both programs use `~/.claude` of the lab.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from handrail import AssistantMessage, Session, StartFailed
from handrail.testing import Endpoint, Lab, When, reply, text, tool_use
from handrail.transcripts import Entry, is_written_by_agent, list_sessions, read_session, read_subagents, rename_session
from tests.interop.scenario import Model, Talk, everything_sent, first_line, of, results_sent, texts_sent

AGENT = Path(sys.executable).parent / "handrail-agent"
SONNET = "claude-sonnet-4-5"


class Pair:
    """Two programs in one lab: `first` starts a session, `second` takes it over."""

    def __init__(self, talk: Talk, lab: Lab, first: Path, second: Path) -> None:
        self._talk, self._lab, self._first, self._second = talk, lab, first, second

    def first(self, api: Endpoint, **options: Any) -> AbstractAsyncContextManager[Session]:
        return self._talk(api, **{"cli_path": self._first, "max_turns": 9} | options)

    def second(self, api: Endpoint, **options: Any) -> AbstractAsyncContextManager[Session]:
        return self._talk(api, **{"cli_path": self._second, "max_turns": 9} | options)

    @property
    def home(self) -> Path:
        return self._lab.home / ".claude"

    def transcript(self, id: str) -> Path:
        [path] = self.home.glob(f"projects/*/{id}.jsonl")
        return path

    async def earlier(self, model: Model, /, **options: Any) -> str:
        """A session of the first program with one turn. Returns its id."""
        async with self.first(model(text("I will.")), **options) as session:
            await session.ask("remember 42")
        return session.id


@pytest.fixture(params=["claude first", "handrail-agent first"])
def pair(request: pytest.FixtureRequest, talk: Talk, lab: Lab, cli: Path) -> Pair:
    programs = (cli, AGENT) if request.param == "claude first" else (AGENT, cli)
    return Pair(talk, lab, *programs)


async def test_resume_continues_in_the_same_file(model: Model, pair: Pair):
    id = await pair.earlier(model)
    api = model(text("42"))
    async with pair.second(api, resume=id) as session:
        await session.ask("what was it?")
        assert session.id == id
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
    assert texts_sent(api.main_requests[0], "assistant") == ["I will."]
    said = read_session(pair.transcript(id)).messages
    assert [entry.text() for entry in said] == ["remember 42", "I will.", "what was it?", "42"]


async def test_continue_takes_the_latest_session_of_the_folder(model: Model, pair: Pair):
    await pair.earlier(model)
    id = await pair.earlier(model)
    api = model(text("42"))
    async with pair.second(api, continue_conversation=True) as session:
        await session.ask("what was it?")
        assert session.id == id
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]


async def test_alternating_resumes_keep_all_turns(model: Model, pair: Pair):
    id = await pair.earlier(model)
    prompts = ["remember 42"]
    for number, open_session in enumerate([pair.second, pair.first, pair.second, pair.first]):
        api = model(text(f"answer {number}"))
        async with open_session(api, resume=id) as session:
            await session.ask(f"question {number}")
        prompts.append(f"question {number}")
        assert texts_sent(api.main_requests[0]) == prompts
    assert len(list(pair.home.glob("projects/*/*.jsonl"))) == 1


async def test_alternating_continues_keep_all_turns(model: Model, pair: Pair):
    await pair.earlier(model)
    prompts = ["remember 42"]
    for number, open_session in enumerate([pair.second, pair.first, pair.second]):
        api = model(text("a"), text("b"))
        async with open_session(api, continue_conversation=True) as session:
            await session.ask(f"one {number}")
            await session.ask(f"two {number}")
        prompts += [f"one {number}", f"two {number}"]
        assert texts_sent(api.main_requests[1]) == prompts


async def test_fork_leaves_the_original_unchanged(model: Model, pair: Pair):
    id = await pair.earlier(model)
    before = pair.transcript(id).read_bytes()
    api = model(text("42"))
    async with pair.second(api, resume=id, fork_session=True) as session:
        result = await session.ask("what was it?")
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
    assert result.session_id != id
    assert pair.transcript(id).read_bytes() == before
    again = model(text("still 42"))
    async with pair.first(again, resume=result.session_id) as session:
        await session.ask("sure?")
    assert texts_sent(again.main_requests[0]) == ["remember 42", "what was it?", "sure?"]


async def test_tool_calls_and_results_are_seen(model: Model, pair: Pair, lab: Lab):
    (lab.project / "a.txt").write_text("one\n")
    replies = [
        reply(text("looking"), tool_use("Read", file_path=str(lab.project / "a.txt"))),
        tool_use("Edit", file_path=str(lab.project / "a.txt"), old_string="one", new_string="two"),
        [tool_use("Bash", command="echo left"), tool_use("Bash", command="echo right")],
        text("done"),
    ]
    async with pair.first(model(*replies), permission_mode="bypassPermissions") as session:
        await session.ask("go")
    api = model(text("yes"))
    async with pair.second(api, resume=session.id) as again:
        await again.ask("did you?")
    results = results_sent(api.main_requests[0])
    assert len(results) == 4
    assert "one" in results[0]
    assert [result.strip() for result in results[2:]] == ["left", "right"]
    assert texts_sent(api.main_requests[0], "assistant") == ["looking", "done"]


async def test_result_details_are_in_the_transcript(model: Model, pair: Pair):
    async with pair.first(
        model(tool_use("Bash", command="echo hi"), text("done")), permission_mode="bypassPermissions"
    ) as session:
        await session.ask("go")
    async with pair.second(
        model(tool_use("Bash", command="echo ho"), text("done")), permission_mode="bypassPermissions", resume=session.id
    ) as again:
        await again.ask("more")
    entries = [json.loads(line) for line in pair.transcript(session.id).read_bytes().splitlines()]
    uuids = {entry.get("uuid") for entry in entries}
    results = [entry for entry in entries if "toolUseResult" in entry]
    assert [entry["toolUseResult"]["stdout"] for entry in results] == ["hi", "ho"]
    assert {entry["sourceToolAssistantUUID"] for entry in results} <= uuids
    spoken = [entry for entry in entries if entry["type"] in ("user", "assistant")]
    assert all(entry["entrypoint"] and entry["version"] and entry["cwd"] for entry in spoken)
    assert all(entry["promptId"] for entry in spoken if entry["type"] == "user")
    prompts = [entry for entry in entries if entry["type"] == "last-prompt"]
    assert prompts[-1]["lastPrompt"] == "more"
    assert prompts[-1]["leafUuid"] == spoken[-1]["uuid"]
    assert not is_written_by_agent(session.id, config_home=pair.home)


async def test_session_resumed_at_a_message_drops_later_ones(model: Model, pair: Pair):
    async with pair.first(model(text("one"), text("two"))) as session:
        first = [message async for message in await session.send("keep this")]
        await session.ask("drop this")
    at = of(AssistantMessage, first)[0].uuid
    api = model(text("three"))
    async with pair.second(api, resume=session.id, resume_session_at=at) as again:
        await again.ask("instead")
    assert texts_sent(api.main_requests[0]) == ["keep this", "instead"]
    api = model(text("four"))
    async with pair.first(api, resume=session.id) as third:
        await third.ask("and now?")
    assert texts_sent(api.main_requests[0]) == ["keep this", "instead", "and now?"]


async def test_dropped_turn_is_checked(model: Model, pair: Pair):
    async with pair.first(model(text("one"), text("two"))) as session:
        first = [message async for message in await session.send("keep this")]
        await session.ask("drop this")
    at = of(AssistantMessage, first)[0].uuid
    [_, dropped] = [entry for entry in read_session(pair.transcript(session.id)).messages if entry.type == "user"]
    options = {"resume": session.id, "resume_session_at": at, "fork_session": True}
    with pytest.raises(StartFailed, match="Resume rejected by --resume-drops-turn:"):
        async with pair.second(model(text("three")), **options, resume_drops_turn=first_uuid(pair, session.id)):
            pass
    api = model(text("three"))
    async with pair.second(api, **options, resume_drops_turn=dropped.uuid) as again:
        await again.ask("instead")
    assert texts_sent(api.main_requests[0]) == ["keep this", "instead"]


def first_uuid(pair: Pair, id: str) -> str:
    return read_session(pair.transcript(id)).messages[0].uuid


async def test_model_is_remembered(model: Model, pair: Pair):
    id = await pair.earlier(model, model=SONNET)
    api = model(text("42"))
    async with pair.second(api, resume=id) as session:
        await session.ask("what was it?")
    assert api.main_requests[0].body["model"] == SONNET


async def test_report_of_a_subagent_is_seen_and_read(model: Model, pair: Pair):
    look = {"description": "look", "prompt": "look closely", "subagent_type": "general-purpose"}
    call = tool_use("Task", **look, run_in_background=False)
    api = model(
        reply(text("A mouse."), when=When(prompt="look closely")),
        reply(text("It saw a mouse."), when=When(tool_result="A mouse.")),
        call,
    )
    async with pair.first(api) as session:
        await session.ask("who is there?")
    [agent] = read_subagents(session.id, config_home=pair.home)
    assert agent.tool_use_id
    assert agent.messages[-1].text() == "A mouse."
    api = model(text("yes"))
    async with pair.second(api, resume=session.id) as again:
        await again.ask("a mouse?")
    assert "A mouse." in everything_sent(api.main_requests[0])


async def test_checkpoint_of_one_is_rewound_by_the_other(model: Model, pair: Pair, lab: Lab):
    old, new, script = lab.project / "old.txt", lab.project / "new.txt", lab.project / "run.sh"
    old.write_text("one\n")
    script.write_text("echo one\n")
    script.chmod(0o755)
    replies = [
        [tool_use("Read", file_path=str(old)), tool_use("Read", file_path=str(script))],
        tool_use("Edit", file_path=str(old), old_string="one", new_string="two"),
        tool_use("Write", file_path=str(script), content="echo two\n"),
        tool_use("Write", file_path=str(new), content="new\n"),
        text("changed"),
        tool_use("Edit", file_path=str(old), old_string="two", new_string="three"),
        text("changed again"),
    ]
    options: dict[str, Any] = {"enable_file_checkpointing": True, "can_use_tool": lambda request: True}
    async with pair.first(model(*replies), **options) as session:
        await session.ask("go")
        await session.ask("more")
    assert (old.read_text(), script.read_text(), new.read_text()) == ("three\n", "echo two\n", "new\n")
    first, second = (entry.uuid for entry in read_session(pair.transcript(session.id)).messages if is_prompt(entry))
    async with pair.second(model(text("hello")), **options, resume=session.id) as again:
        await again.ask("hi")
        assert (await again.rewind_files(second)).can_rewind
        assert old.read_text() == "two\n"
        await again.rewind_files(first)
    assert (old.read_text(), script.read_text(), new.exists()) == ("one\n", "echo one\n", False)
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


def is_prompt(entry: Entry) -> bool:
    return entry.type == "user" and entry.blocks()[0]["type"] == "text"


async def test_path_of_a_transcript_is_resumed(model: Model, pair: Pair):
    id = await pair.earlier(model)
    api = model(text("42"))
    async with pair.second(api, resume=str(pair.transcript(id))) as session:
        await session.ask("what was it?")
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]


async def test_session_killed_in_a_tool_is_resumed(model: Model, pair: Pair, lab: Lab):
    fifo = lab.project / "started"
    os.mkfifo(fifo)
    call = tool_use("Bash", command=f"echo started > {fifo}; exec tail -f /dev/null")
    id = str(uuid4())
    async with pair.first(model(call), can_use_tool=lambda request: True, session_id=id) as session:
        await session.send("go")
        await first_line(fifo)
        os.kill(session.pid or 0, signal.SIGKILL)
        await session.wait_closed()
    api = model(text("back"))
    async with pair.second(api, resume=id) as again:
        await again.ask("still here?")
    sent = api.main_requests[0]
    assert texts_sent(sent)[0] == "go"
    assert "still here?" in texts_sent(sent)[-1]


async def test_resume_works_from_another_folder(model: Model, pair: Pair, lab: Lab):
    id = await pair.earlier(model)
    api = model(text("42"))
    async with pair.second(api, resume=id, cwd=lab.outside) as session:
        await session.ask("what was it?")
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
    api = model(text("still"))
    async with pair.first(api, resume=id) as session:
        await session.ask("and now?")
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?", "and now?"]


async def test_both_are_listed_with_their_titles(model: Model, pair: Pair, lab: Lab):
    old = await pair.earlier(model)
    rename_session(old, "The blue house", config_home=pair.home)
    async with pair.second(model(text("hi"))) as session:
        await session.ask("hello there")
    listed = {info.id: info.title for info in list_sessions(lab.project, config_home=pair.home)}
    assert listed == {old: "The blue house", session.id: "hello there"}
    async with pair.second(model(text("yes")), resume=old) as session:
        await session.ask("still blue?")
    assert {info.id: info.title for info in list_sessions(lab.project, config_home=pair.home)} == listed


async def test_summary_of_a_compacted_session_is_seen(model: Model, pair: Pair):
    summary = reply(text("<summary>THE SUMMARY</summary>"))
    async with pair.first(model(text("I will."), summary, text("go on"))) as session:
        await session.ask("remember 42")
        await session.ask("/compact")
    api = model(text("42"))
    async with pair.second(api, resume=session.id) as again:
        await again.ask("what was it?")
    sent = everything_sent(api.main_requests[0])
    assert "THE SUMMARY" in sent
    assert "I will." not in sent
