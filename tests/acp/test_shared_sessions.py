"""Sessions of a server in an editor: other clients see them too, and they survive the editor and the connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.acp.rpc import RpcError
from handrail.bridge_client.connection import BridgeConnection, Event
from handrail.bridge_client.server_link import ServerLink
from handrail.model_access.acp_agents import AcpAgent, add_agent
from handrail.testing import Script, ScriptedMessagesApi, hang, reply, scripted_acp_agent, text, tool_use
from tests.acp.editor import BIN, TestEditor, a_server, access, choosing, connected, editor_of
from tests.bridge.serving import Running
from tests.cli.served import serving
from tests.faults.fault_proxy import FaultProxy
from tests.faults.server_process import ServerProcess

pytestmark = pytest.mark.usefixtures("client_side")
PERMISSION = "session/request_permission"


@contextlib.asynccontextmanager
async def a_served_editor(folder: Path, *replies: Any) -> AsyncIterator[tuple[Running, TestEditor]]:
    os.makedirs(folder, exist_ok=True)
    async with (
        ScriptedMessagesApi(Script(list(replies))) as api,
        asyncio.timeout(90),
        a_server(folder, api.url) as server,
        editor_of(server, folder) as editor,
    ):
        editor.api = api
        yield server, editor


@contextlib.asynccontextmanager
async def the_page(server: Running) -> AsyncIterator[BridgeConnection]:
    """A client of the native protocol, as the page is one."""
    connection = BridgeConnection(ServerLink(server.address, await server.token()))
    running = asyncio.create_task(connection.run())
    try:
        yield connection
    finally:
        running.cancel()
        await asyncio.wait([running])


async def never(_params: dict[str, Any]) -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_session_of_the_page_continues_in_the_editor(tmp_path: Path):
    folder = tmp_path / "w"
    async with a_served_editor(folder, reply(text("First.")), reply(text("Second."))) as (server, editor):
        async with the_page(server) as page:
            started = await page.command("start", cwd=str(folder), prompt="from the page")
        session = started["session"]["id"]
        await editor.initialize()
        listed = await editor.peer.request("session/list", {"cwd": str(folder)})
        assert [(one["sessionId"], one["title"]) for one in listed["sessions"]] == [(session, "from the page")]
        await editor.peer.request("session/load", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
        await editor.until(lambda: editor.text() == "First.")
        assert editor.text("user_message_chunk") == "from the page"
        assert await editor.prompt(session, "from the editor") == "end_turn"
        assert editor.text() == "First.Second."
        assert editor.text("user_message_chunk") == "from the page"


async def test_two_editors_see_the_same_turn(tmp_path: Path):
    async with a_served_editor(tmp_path / "w", reply(text("For both."))) as (server, editor):
        session = await editor.open()
        async with editor_of(server, editor.folder) as other:
            await other.resume(session)
            assert await editor.prompt(session, "hello") == "end_turn"
            await other.until(lambda: other.text() == "For both.")
            assert other.text("user_message_chunk") == "hello"
            assert editor.text() == "For both."
            assert editor.text("user_message_chunk") == ""


async def test_the_first_answer_closes_the_question_in_the_other_editor(tmp_path: Path, client_side: str):
    run = tool_use("Bash", command="mkdir sub")
    async with a_served_editor(tmp_path / "w", reply(run), reply(text("Done."))) as (server, editor):
        editor.answers[PERMISSION] = never
        session = await editor.open()
        async with editor_of(server, editor.folder) as other:
            await other.resume(session)
            other.answers[PERMISSION] = choosing("allow")
            assert await editor.prompt(session, "go") == "end_turn"
            assert [method for method, _ in (*editor.asked, *other.asked)] == [PERMISSION, PERMISSION]
            if client_side == "directly":  # the programs with the SDKs do not pass a cancellation on
                await editor.until(lambda: editor.cancelled)
    assert (tmp_path / "w" / "sub").is_dir()


async def test_a_question_that_the_page_answers_is_closed_in_the_editor(tmp_path: Path, client_side: str):
    write = tool_use("Write", file_path=str(tmp_path / "w" / "a.txt"), content="x")
    async with a_served_editor(tmp_path / "w", reply(write), reply(text("Fine."))) as (server, editor):
        editor.answers[PERMISSION] = never
        session = await editor.open()
        prompt = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(lambda: editor.asked)
        (question,) = (await server.bridge.sessions.get(session)).questions.all()
        async with the_page(server) as page:
            await page.command(
                "answer", session=session, question=question.id, hash=question.hash, behavior="deny", reason="no"
            )
        assert await prompt == "end_turn"
        if client_side == "directly":
            await editor.until(lambda: editor.cancelled)
        assert editor.of_kind("tool_call_update")[-1]["status"] == "failed"


async def test_a_session_goes_on_when_its_editor_is_killed(tmp_path: Path):
    run = tool_use("Bash", command="mkdir sub")
    async with a_served_editor(tmp_path / "w", reply(run), reply(text("Done alone."))) as (server, editor):
        editor.answers[PERMISSION] = never
        session = await editor.open()
        prompt = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(lambda: editor.asked)
        assert editor.transport.pid is not None
        os.kill(editor.transport.pid, signal.SIGKILL)
        with pytest.raises(RpcError, match="has ended"):
            await prompt
        async with editor_of(server, editor.folder) as other:
            other.answers[PERMISSION] = choosing("allow")
            await other.initialize()
            await other.peer.request(
                "session/load", {"sessionId": session, "cwd": str(editor.folder), "mcpServers": []}
            )
            await other.until(lambda: other.text() == "Done alone.")
            assert other.text("user_message_chunk") == "go"
    assert (tmp_path / "w" / "sub").is_dir()


async def test_closing_a_session_in_the_editor_leaves_it_running(tmp_path: Path):
    async with a_served_editor(tmp_path / "w", reply(text("One."), hang())) as (server, editor):
        session = await editor.open()
        prompt = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(editor.text)
        await editor.peer.request("session/close", {"sessionId": session})
        with pytest.raises(RpcError, match="continues on the server"):
            await prompt
        assert (await server.bridge.sessions.get(session)).state() == "running"


async def test_changes_of_another_client_are_reported(tmp_path: Path):
    async with a_served_editor(tmp_path / "w") as (server, editor):
        session = await editor.open()
        async with the_page(server) as page:
            await page.command("set_permission_mode", session=session, mode="plan")
            await page.command("rename", session=session, title="Another title")
            await page.command("set_model", session=session, model="claude-sonnet-4-5")
        await editor.until(lambda: editor.of_kind("config_option_update"))
        assert editor.of_kind("current_mode_update")[-1]["currentModeId"] == "plan"
        assert editor.of_kind("session_info_update")[-1]["title"] == "Another title"


@contextlib.asynccontextmanager
async def a_queued_prompt(
    server: Running, editor: TestEditor, other: TestEditor, session: str, begun: Awaitable[object]
) -> AsyncIterator[tuple[asyncio.Task[str], asyncio.Task[str], BridgeConnection]]:
    """A turn of `other` that has begun, and a prompt of `editor` that the server has queued behind it."""
    await other.resume(session)
    first = asyncio.create_task(other.prompt(session, "first"))
    await begun
    async with the_page(server) as page, events_of(page, session) as seen:
        queued = asyncio.create_task(editor.prompt(session, "second"))
        await seen("said", b"second")
        yield first, queued, page


@contextlib.asynccontextmanager
async def events_of(page: BridgeConnection, session: str) -> AsyncIterator[Callable[[str, bytes], Awaitable[object]]]:
    """Wait for an event of this kind that contains these bytes, from the first event of the session on."""
    events, more = list[tuple[str, bytes]](), asyncio.Condition()

    async def take(event: Event) -> None:
        async with more:
            events.append((event.kind, bytes(event.data)))
            more.notify_all()

    async def seen(kind: str, part: bytes) -> None:
        async with more:
            await more.wait_for(lambda: any(kind == one and part in data for one, data in events))

    await page.follow(session, take=take, caught_up=lambda: None, lost=lambda _error: None)
    yield seen


async def passed_on(*editors: TestEditor, session: str) -> None:
    """Whatever these editors have asked for so far has reached the CLI: it answers a later request."""
    for editor in editors:
        await editor.peer.request("session/set_mode", {"sessionId": session, "modeId": "default"})


async def test_cancel_takes_back_a_queued_prompt_and_spares_the_turn_of_others(tmp_path: Path):
    async with a_served_editor(tmp_path / "w", reply(text("Busy."), hang())) as (server, editor):
        session = await editor.open()
        async with (
            editor_of(server, editor.folder) as other,
            a_queued_prompt(server, editor, other, session, other.until(other.text)) as (first, queued, _),
        ):
            await editor.peer.notify("session/cancel", {"sessionId": session})
            assert await queued == "cancelled"
            await passed_on(editor, other, session=session)
            host = await server.bridge.sessions.get(session)
            assert (host.state(), first.done()) == ("running", False)
            await other.peer.notify("session/cancel", {"sessionId": session})
            assert await first == "cancelled"


async def test_cancel_of_a_queued_prompt_leaves_the_question_of_another_turn_open(tmp_path: Path):
    run = tool_use("Bash", command="mkdir sub")
    async with a_served_editor(tmp_path / "w", reply(run), reply(text("Made."))) as (server, editor):
        editor.answers[PERMISSION] = never
        session, may = await editor.open(), asyncio.Event()
        async with editor_of(server, editor.folder) as other:

            async def later(params: dict[str, Any]) -> dict[str, Any]:
                await may.wait()
                return await choosing("allow")(params)

            other.answers[PERMISSION] = later
            begun = other.until(lambda: other.asked)
            async with a_queued_prompt(server, editor, other, session, begun) as (first, queued, _):
                await editor.peer.notify("session/cancel", {"sessionId": session})
                assert await queued == "cancelled"
                await passed_on(editor, other, session=session)
                assert not editor.cancelled
                may.set()
                assert await first == "end_turn"
            assert other.text() == "Made."
    assert (tmp_path / "w" / "sub").is_dir()


async def test_cancel_stops_a_prompt_that_was_just_taken_from_the_queue(tmp_path: Path):
    script = (reply(hang(), text("First.")), reply(hang()), reply(text("Third.")))
    async with a_served_editor(tmp_path / "w", *script) as (server, editor):
        session, api = await editor.open(), editor.api
        assert api is not None
        async with (
            editor_of(server, editor.folder) as other,
            a_queued_prompt(server, editor, other, session, api.hanging()) as (first, queued, _),
        ):
            api.release()
            await api.hanging(2)
            await editor.peer.notify("session/cancel", {"sessionId": session})
            assert await queued == "cancelled"
            assert await first == "end_turn"
            assert await other.prompt(session, "third") == "end_turn"
            assert other.text() == "First.Third."


async def test_the_page_cancels_a_prompt_that_an_editor_queued(tmp_path: Path):
    async with a_served_editor(tmp_path / "w", reply(text("Busy."), hang())) as (server, editor):
        session = await editor.open()
        async with (
            editor_of(server, editor.folder) as other,
            a_queued_prompt(server, editor, other, session, other.until(other.text)) as (first, queued, page),
        ):
            said = next(
                msgspec.json.decode(event.data)
                for event in await server.bridge.sessions.events.read(session, 0)
                if event.kind == "said" and b"second" in event.data
            )
            assert await page.command("cancel_queued", session=session, uuid=said["uuid"]) == {"cancelled": True}
            assert await queued == "cancelled"
            await passed_on(editor, other, session=session)
            assert not first.done()
            await other.peer.notify("session/cancel", {"sessionId": session})
            assert await first == "cancelled"


async def test_images_are_uploaded(tmp_path: Path):
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    async with a_served_editor(tmp_path / "w", reply(text("A dot."))) as (server, editor):
        session = await editor.open()
        image = {"type": "image", "data": pixel, "mimeType": "image/png"}
        assert await editor.prompt(session, "what is it?", image) == "end_turn"
        with pytest.raises(RpcError, match="image"):
            await editor.prompt(session, {"type": "image", "data": "bm90IGFuIGltYWdl", "mimeType": "image/png"})
        events = await server.bridge.sessions.events.read(session, 0)
        said = next(event for event in events if event.kind == "said")
        assert b'"type":"image"' in said.data


async def test_nothing_is_lost_or_doubled_when_the_connection_is_cut(tmp_path: Path):
    folder, words = tmp_path / "w", " ".join(f"word{at}" for at in range(150))
    folder.mkdir()
    script = Script([reply(text(words), chunk=8, delay=0.004), reply(text("Then this."))])
    async with ScriptedMessagesApi(script) as api, asyncio.timeout(90), FaultProxy(0) as proxy:
        name = f"127.0.0.1:{proxy.port}"
        async with a_server(folder, api.url, names=(name,)) as server:
            proxy.leads_to(server.port)
            token = await server.token()
            async with connected(folder, "--server", f"http://{name}", HANDRAIL_TOKEN=token) as editor:
                session = await editor.open()
                prompt = asyncio.create_task(editor.prompt(session, "tell me"))
                for part in range(1, 6):
                    await editor.until(lambda most=part: len(editor.text()) > most * len(words) // 8)
                    proxy.cut()
                assert await prompt == "end_turn"
                assert editor.text() == words
                assert await editor.prompt(session, "and?") == "end_turn"
                assert editor.text() == words + "Then this."
        assert proxy.connections > 5


async def test_the_editor_goes_on_after_the_server_was_killed(tmp_path: Path):
    folder = tmp_path / "faulty"
    script = Script([reply(text("Before.")), reply(text("Lost."), hang()), reply(text("After."))])
    async with ScriptedMessagesApi(script) as api, asyncio.timeout(90):
        folder.mkdir()
        cli = folder / "agent"
        variables = " ".join(f"{name}={value}" for name, value in access(api.url).items())
        cli.write_text(f'#!/bin/sh\nexec env {variables} {BIN / "handrail-agent"} "$@"\n')
        cli.chmod(0o755)
        async with ServerProcess(folder, cli=str(cli)) as server:
            address = f"http://127.0.0.1:{server.port}"
            async with connected(server.work, "--server", address, HANDRAIL_TOKEN=server.token) as editor:
                session = await editor.open()
                assert await editor.prompt(session, "one") == "end_turn"
                prompt = asyncio.create_task(editor.prompt(session, "two"))
                await editor.until(lambda: "Lost." in editor.text())
                await server.kill()
                await server.start()
                with pytest.raises(RpcError):
                    await prompt
                assert await editor.prompt(session, "three") == "end_turn"
                assert editor.text() == "Before.Lost.After."
                assert editor.text("user_message_chunk") == ""


async def test_a_server_that_cannot_be_reached_is_named(tmp_path: Path):
    tmp_path.joinpath("w").mkdir()
    async with asyncio.timeout(60):
        async with connected(tmp_path / "w", "--server", "http://127.0.0.1:1", HANDRAIL_TOKEN="x.y") as editor:
            with pytest.raises(RpcError, match=r"http://127\.0\.0\.1:1 cannot be reached"):
                await editor.open()


async def test_a_token_that_is_refused_is_named(tmp_path: Path):
    async with a_served_editor(tmp_path / "w") as (server, editor):
        session = await editor.open()
        (device,) = server.bridge.access.devices()
        await server.bridge.access.revoke(device.id)
        with pytest.raises(RpcError, match="this device was revoked"):
            await editor.prompt(session, "hello")


async def test_a_device_that_may_only_view_cannot_prompt(tmp_path: Path):
    folder = tmp_path / "w"
    async with a_served_editor(folder, reply(text("Hello."))) as (server, editor):
        session = await editor.open()
        token = await server.token(["view"])
        async with connected(folder, "--server", server.address, HANDRAIL_TOKEN=token) as viewer:
            with pytest.raises(RpcError, match="scope 'prompt'"):
                await viewer.open()
        assert await editor.prompt(session, "hello") == "end_turn"


async def test_a_server_of_this_machine_needs_no_token(tmp_path: Path):
    (tmp_path / "w").mkdir()
    token = tmp_path / "data" / "editor-token"
    with serving(tmp_path, "--cli", BIN / "handrail-agent") as server:
        arguments = ("--server", server.address, "--data", str(tmp_path / "data"))
        async with asyncio.timeout(60):
            async with connected(tmp_path / "w", *arguments) as editor:
                session = await editor.open()
            first = token.read_text()
            assert token.stat().st_mode & 0o777 == 0o600
            async with connected(tmp_path / "w", *arguments) as editor:
                await editor.resume(session)
    assert token.read_text() == first


async def test_the_agent_of_new_sessions_is_chosen_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    script = tmp_path / "script.json"
    script.write_text("{}")
    add_agent("scripted", AcpAgent([sys.executable, scripted_acp_agent.__file__, str(script)]))
    async with a_served_editor(tmp_path / "w") as (server, _):
        async with editor_of(server, tmp_path / "w", "--agent", "scripted") as editor:
            session = await editor.open()
            assert await editor.prompt(session, "repeated") == "end_turn"
            assert editor.text() == "repeated"
        async with editor_of(server, tmp_path / "w", "--agent", "missing") as editor:
            with pytest.raises(RpcError, match="agent 'missing' not found on this machine; it has .*scripted"):
                await editor.open()


async def test_choices_of_the_server_are_refused(tmp_path: Path):
    program = await asyncio.create_subprocess_exec(
        *(str(BIN / "handrail"), "acp", "--server", "http://127.0.0.1:1", "--cli", "agent"),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await program.communicate()
    assert program.returncode == 2
    assert b"are choices of the server" in errors
