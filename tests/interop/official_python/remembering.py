"""Resuming sessions and rewinding files."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from claude_agent_sdk import (
    AssistantMessage,
    InMemorySessionStore,
    UserMessage,
    delete_session,
    get_session_info,
    get_session_messages,
    list_sessions,
    project_key_for_directory,
    rename_session,
    tag_session,
)
from stage import Said, Stage, allow, answer, equal, scenario, turn


async def earlier(stage: Stage, **options: Any) -> str:
    """Run a session to its end and return its id."""
    return (await stage.ask("remember 42", **options)).result.session_id


@scenario
async def resume(stage: Stage) -> None:
    old = await earlier(stage)
    said = await stage.ask("what was it?", resume=old)
    equal((said.result.result, said.result.session_id), ("It was 42.", old))


@scenario
async def continue_(stage: Stage) -> None:
    old = await earlier(stage)
    said = await stage.ask("what was it?", continue_conversation=True)
    equal((said.result.result, said.result.session_id), ("It was 42.", old))


@scenario
async def fork(stage: Stage) -> None:
    old = await earlier(stage)
    said = await stage.ask("what was it?", resume=old, fork_session=True)
    equal(said.result.result, "It was 42.")
    assert said.result.session_id != old
    equal({one.session_id for one in list_sessions(str(stage.project))}, {old, said.result.session_id})


@scenario
async def resume_at(stage: Stage) -> None:
    async with stage.client() as client:
        first = await turn(client, "remember 42")
        await turn(client, "this too")
    (kept,) = first.of(AssistantMessage)
    options = {"resume": first.result.session_id, "resume_session_at": kept.uuid, "fork_session": True}
    equal((await stage.ask("what was it?", **options)).result.result, "It was 42.")


@scenario
async def own_session_id(stage: Stage) -> None:
    chosen = str(uuid4())
    equal(await earlier(stage, session_id=chosen), chosen)
    equal((await stage.ask("what was it?", resume=chosen)).result.result, "It was 42.")


@scenario
async def sessions(stage: Stage) -> None:
    old = await earlier(stage)
    (found,) = list_sessions(str(stage.project))
    equal((found.session_id, found.first_prompt, found.cwd), (old, "remember 42", str(stage.project)))
    messages = get_session_messages(old, str(stage.project))
    equal([message.type for message in messages], ["user", "assistant"])
    equal(messages[0].message["content"], "remember 42")
    equal(messages[1].message["content"][0]["text"], "I will.")
    equal(get_session_info(old, str(stage.project)).session_id, old)


@scenario
async def session_store(stage: Stage) -> None:
    store = InMemorySessionStore()
    old = await earlier(stage, session_store=store)
    kept = await store.load({"project_key": project_key_for_directory(stage.project), "session_id": old})
    assert {"user", "assistant"} <= {entry["type"] for entry in kept}, kept
    said = await stage.ask("what was it?", session_store=store, resume=old)
    equal(said.result.result, "It was 42.")


@scenario
async def mutated_sessions(stage: Stage) -> None:
    folder, old = str(stage.project), await earlier(stage)
    rename_session(old, "The answer", folder)
    tag_session(old, "kept", folder)
    info = get_session_info(old, folder)
    equal((info.custom_title, info.tag), ("The answer", "kept"))
    equal((await stage.ask("what was it?", resume=old)).result.result, "It was 42.")
    delete_session(old, folder)
    equal(list_sessions(folder), [])


@scenario
async def rewind(stage: Stage) -> None:
    notes = stage.project / "notes.txt"
    notes.write_text("old\n")
    options = {"enable_file_checkpointing": True, "can_use_tool": allow}
    async with stage.client(**options, extra_args={"replay-user-messages": None}) as client:
        await client.query("change the notes")
        said: Said = await answer(client)
        equal((said.result.result, notes.read_text()), ("changed", "new\n"))
        prompts = [message for message in said.of(UserMessage) if message.content == "change the notes"]
        await client.rewind_files(prompts[0].uuid)
        equal(notes.read_text(), "old\n")
