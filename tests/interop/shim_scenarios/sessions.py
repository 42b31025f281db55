"""Conversations that outlive a process, the functions on their files, and rewinding."""

from __future__ import annotations

from typing import Any

from tests.interop.shim_scenarios.stage import Sdk, Stage, allowing, calls, first, scenario, when

OWN_ID = "3f2a91c0-1111-4222-8333-444455556666"
UNKNOWN_ID = "3f2a91c0-9999-4222-8333-444455556666"
MEMORY = (when("I will.", prompt="remember"), when("It was 42.", said="I will."))
LOOK = calls(
    "Agent", description="Look", prompt="look closely", subagent_type="general-purpose", run_in_background=False
)


async def earlier(sdk: Sdk, stage: Stage, **options: Any) -> str:
    """A conversation that has ended. Returns its id."""
    return first(sdk, "ResultMessage", await stage.ask("remember 42", **options)).session_id


@scenario(*MEMORY, trio=True)
async def resume(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("what was it?", resume=await earlier(sdk, stage))


@scenario(*MEMORY)
async def resume_in_a_query(sdk: Sdk, stage: Stage) -> None:
    await stage.query("what was it?", resume=await earlier(sdk, stage))


@scenario(*MEMORY)
async def continue_conversation(sdk: Sdk, stage: Stage) -> None:
    await earlier(sdk, stage)
    await stage.ask("what was it?", continue_conversation=True)


@scenario(*MEMORY)
async def fork(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage)
    await stage.ask("what was it?", resume=old, fork_session=True)
    stage.see(len(sdk.list_sessions(str(stage.project))), "sessions")


@scenario(when("And that too.", prompt="this too"), *MEMORY)
async def resume_at_a_message(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        kept = first(sdk, "AssistantMessage", await stage.turn(client, "remember 42"))
        result = first(sdk, "ResultMessage", await stage.turn(client, "this too"))
    await stage.ask("what was it?", resume=result.session_id, resume_session_at=kept.uuid, fork_session=True)


@scenario(*MEMORY)
async def chosen_session_id(sdk: Sdk, stage: Stage) -> None:
    stage.see(await earlier(sdk, stage, session_id=OWN_ID) == OWN_ID, "chosen")
    await stage.ask("what was it?", resume=OWN_ID)


@scenario("Hello.")
async def unknown_session_is_resumed(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("hi", resume=UNKNOWN_ID)


@scenario(*MEMORY)
async def listed_sessions(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage)
    folder = str(stage.project)
    stage.see(sdk.list_sessions(folder), "list")
    stage.see(sdk.list_sessions(folder, limit=1, offset=1), "page")
    stage.see(sdk.list_sessions(str(stage.outside)), "elsewhere")
    stage.see(sdk.get_session_info(old, folder), "info")
    stage.see(sdk.get_session_info(UNKNOWN_ID), "unknown")
    stage.see(sdk.get_session_info("not an id"), "invalid")


@scenario(calls("Read", file_path="notes.txt"), "read")
async def messages_of_a_session(sdk: Sdk, stage: Stage) -> None:
    stage.put("notes.txt", "a note\n")
    old = await earlier(sdk, stage)
    stage.see(sdk.get_session_messages(old, str(stage.project)), "messages")
    stage.see(sdk.get_session_messages(old, limit=2, offset=1), "page")
    stage.see(sdk.get_session_messages(UNKNOWN_ID), "unknown")


@scenario(when("A mouse.", prompt="look closely"), when("It saw a mouse.", tool_result="A mouse."), LOOK)
async def subagents_of_a_session(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage, allowed_tools=["Agent"])
    agents = stage.see(sdk.list_subagents(old, str(stage.project)), "agents")
    stage.see(sdk.get_subagent_messages(old, agents[0], str(stage.project)), "messages")
    stage.see(sdk.list_subagents(UNKNOWN_ID), "unknown")


@scenario(*MEMORY)
async def renamed_and_tagged_session(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage)
    folder = str(stage.project)
    sdk.rename_session(old, "  The answer ", folder)
    sdk.tag_session(old, "kept", folder)
    stage.see(sdk.get_session_info(old, folder), "info")
    sdk.tag_session(old, None, folder)
    stage.see(sdk.get_session_info(old, folder), "untagged")
    await stage.ask("what was it?", resume=old)


@scenario(*MEMORY)
async def forked_on_disk(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage)
    fork = stage.see(sdk.fork_session(old, str(stage.project), title="A copy"), "fork")
    stage.see(sdk.get_session_info(fork.session_id), "info")
    copied = sdk.get_session_messages(fork.session_id)
    stage.see([[entry.type, entry.message] for entry in copied], "messages")  # the official SDK gives them new uuids
    await stage.ask("what was it?", resume=fork.session_id)


@scenario(*MEMORY)
async def forked_on_disk_up_to_a_message(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage)
    prompt = sdk.get_session_messages(old)[0]
    fork = sdk.fork_session(old, up_to_message_id=prompt.uuid)
    stage.see(sdk.get_session_messages(fork.session_id), "messages")


@scenario(*MEMORY)
async def deleted_session(sdk: Sdk, stage: Stage) -> None:
    old = await earlier(sdk, stage)
    stage.see(sdk.delete_session(old, str(stage.project)), "deleted")
    stage.see(sdk.list_sessions(str(stage.project)), "list")
    with stage.failing():
        sdk.delete_session(old)


@scenario()
async def invalid_calls_of_session_functions(sdk: Sdk, stage: Stage) -> None:
    for call in (
        lambda: sdk.rename_session(UNKNOWN_ID, "a title"),
        lambda: sdk.rename_session("not an id", "a title"),
        lambda: sdk.rename_session(UNKNOWN_ID, "  "),
        lambda: sdk.tag_session(UNKNOWN_ID, "a tag"),
        lambda: sdk.tag_session(UNKNOWN_ID, "  "),
        lambda: sdk.fork_session(UNKNOWN_ID),
        lambda: sdk.fork_session("not an id"),
        lambda: sdk.delete_session("not an id"),
    ):
        with stage.failing():
            call()


@scenario(
    calls("Read", file_path="notes.txt"), calls("Write", file_path="notes.txt", content="new\n"), "changed", "bye"
)
async def rewind(sdk: Sdk, stage: Stage) -> None:
    notes = stage.put("notes.txt", "old\n")
    options = {"enable_file_checkpointing": True, "extra_args": {"replay-user-messages": None}}
    async with stage.client(can_use_tool=allowing(stage), **options) as client:
        messages = await stage.turn(client, "change the notes")
        prompt = first(sdk, "UserMessage", messages)
        stage.see(notes.read_text(), "before")
        stage.see(await client.rewind_files(prompt.uuid), "rewound")
        stage.see(notes.read_text(), "after")


@scenario(*MEMORY)
async def session_store(sdk: Sdk, stage: Stage) -> None:
    store = sdk.InMemorySessionStore()
    old = await earlier(sdk, stage, session_store=store)
    key = {"project_key": sdk.project_key_for_directory(stage.project), "session_id": old}
    kept = await store.load(key)
    stage.see(sorted({entry["type"] for entry in kept if entry["type"] in ("user", "assistant")}), "kept")
    sdk.delete_session(old)
    async with stage.client(session_store=store, resume=old) as client:
        await client.query("what was it?")
        messages = [message async for message in client.receive_response()]
    stage.see([type(message).__name__ for message in messages])
    # Handrail resumes with the totals of the earlier process, so costs and tokens differ.
    stage.see(first(sdk, "ResultMessage", messages).result)
