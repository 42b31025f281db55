"""Editors that send damaged messages, wrong answers or too much: refused, and the session lives."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handrail.acp.rpc import INTERNAL_ERROR, RpcError
from handrail.testing import Script, ScriptedMessagesApi, reply, text, tool_use
from tests.acp.editor import a_server, an_editor, choosing, editor_of, editor_on_socket

PERMISSION = "session/request_permission"
TOO_LONG = b'{"jsonrpc": "2.0", "method": "' + b"a" * 33 * 1024 * 1024 + b'"}'


@pytest.fixture(params=["own", "server", "socket"])
def behind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the session runs: in `handrail acp`, on a server, or on a server with its socket."""
    monkeypatch.setenv("HANDRAIL_TEST_BEHIND", request.param)
    return request.param


def call(method: str, params: Any, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **fields}).encode()


def damaged(session: str) -> list[bytes]:
    """Lines that are not JSON-RPC, and messages with wrong fields, wrong sessions or ids of nothing."""
    named = {"sessionId": session}
    wrong = [None, [], 7, "text", {}, {"sessionId": 7}, {"sessionId": session, "prompt": 7}, {"cwd": ["/"]}]
    methods = ("session/new", "session/load", "session/prompt", "session/set_mode", "session/set_config_option")
    return [
        *(b"junk", b"[]", b"7", b"{}", b'"text"', b'{"jsonrpc": "2.0"', b"[" * 5000, b'{"a":' * 5000),
        *(call(method, params, id=f"{method}{at}") for method in methods for at, params in enumerate(wrong)),
        *(call("session/cancel", params) for params in (*wrong[:-2], {"sessionId": "unknown"})),
        *(call("$/cancel_request", {"requestId": id}) for id in (None, True, [], "unknown", 10**30)),
        *(
            json.dumps({"jsonrpc": "2.0", "id": id, "result": {}}).encode()
            for id in (-1, 10**30, True, "0", None, 5000)
        ),
        call("session/prompt", {**named, "prompt": [{"type": "from tomorrow"}]}, id="kind"),
        call("session/prompt", {**named, "prompt": []}, id="none"),
        call("session/load", {**named, "cwd": "/\0", "mcpServers": []}, id="nul"),
        call("session/new", {"cwd": "/\ud800", "mcpServers": []}, id="half"),
        call("session/new", {"cwd": ".", "mcpServers": [{"name": "s", "command": 7}]}, id="server"),
        call("from/tomorrow", {}, id="tomorrow"),
        call("from/tomorrow", {}),
    ]


async def test_damaged_messages_do_not_disturb_a_turn_or_its_question(tmp_path: Path, behind: str):
    script = Script([reply(tool_use("Bash", command="mkdir sub")), reply(text("Made."))])
    async with an_editor(tmp_path / "w", script) as editor:
        answered = asyncio.Event()

        async def later(params: dict[str, Any]) -> dict[str, Any]:
            await answered.wait()
            return await choosing("allow")(params)

        editor.answers[PERMISSION] = later
        session = await editor.open()
        prompt = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(lambda: editor.asked)
        for line in [*damaged(session), *([] if behind == "socket" else [TOO_LONG, b'{"a": "\xff"}'])]:
            await editor.transport.send(line + b"\n")
        await editor.peer.request("session/list", {})
        assert not prompt.done()
        answered.set()
        assert await prompt == "end_turn"
        assert (editor.text(), len(editor.asked), editor.cancelled) == ("Made.", 1, [])
    assert (tmp_path / "w" / "sub").is_dir()


BAD_ANSWERS: list[Any] = [
    None,
    [],
    {},
    "allow",
    {"outcome": "allow"},
    {"outcome": {"outcome": "selected"}},
    {"outcome": {"outcome": "selected", "optionId": "made up"}},
    {"outcome": {"outcome": "selected", "optionId": ["allow"]}},
    {"outcome": {"outcome": "allowed", "optionId": "allow"}},
    {"outcome": {"optionId": "allow"}},
]
FAILURE = RpcError(INTERNAL_ERROR, "the window was closed")


def sent_from(answers: list[Any], behind: str) -> list[Any]:
    """With a session of `handrail acp` also an error; on a server that leaves the question to other clients."""
    return [*answers, *([FAILURE] if behind == "own" else [])]


def bad_answers(left: list[Any]) -> Any:
    async def answer(_params: dict[str, Any]) -> Any:
        bad = left.pop(0)
        if isinstance(bad, RpcError):
            raise bad
        return bad

    return answer


async def test_a_bad_answer_to_a_question_runs_nothing(tmp_path: Path, behind: str):
    left = sent_from(BAD_ANSWERS, behind)
    runs = [reply(tool_use("Bash", command="mkdir sub")) for _ in left]
    async with an_editor(tmp_path / "w", Script([*runs, reply(text("Fine."), times=99)])) as editor:
        editor.answers[PERMISSION] = bad_answers(left)
        session = await editor.open()
        while left:
            assert await editor.prompt(session, "go") in ("end_turn", "cancelled")
        assert await editor.prompt(session, "go") == "end_turn"
        assert editor.text().endswith("Fine.")
    assert not (tmp_path / "w" / "sub").exists()


BAD_FORMS: list[Any] = [
    None,
    {"action": "from tomorrow"},
    {"action": "accept"},
    {"action": "accept", "content": ["Red"]},
    {"action": "accept", "content": {"another": "Red"}},
    {"action": "decline", "content": {"question_0": "Red"}},
]
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
    "multiSelect": False,
}


async def test_a_bad_answer_to_a_form_is_no_answer(tmp_path: Path, behind: str):
    left = sent_from(BAD_FORMS, behind)
    asks = [reply(tool_use("AskUserQuestion", questions=[COLOUR])) for _ in left]
    async with an_editor(tmp_path / "w", Script([*asks, reply(text("Fine."), times=99)])) as editor:
        editor.answers["elicitation/create"] = bad_answers(left)
        session = await editor.open(elicitation={"form": {}})
        while left:
            assert await editor.prompt(session, "go") in ("end_turn", "cancelled")
        assert await editor.prompt(session, "go") == "end_turn"
        assert '="Red"' not in str(editor.api and editor.api.main_requests[-1].body["messages"])


async def test_an_editor_that_cannot_show_a_question_leaves_it_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANDRAIL_TEST_BEHIND", "server")
    script = Script([reply(tool_use("Bash", command="mkdir sub")), reply(text("Made."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session, server = await editor.open(), editor.server
        assert server is not None
        editor.answers[PERMISSION] = bad_answers([FAILURE])
        async with editor_of(server, editor.folder) as other:
            await other.resume(session)
            prompt = asyncio.create_task(editor.prompt(session, "go"))
            await other.until(lambda: other.asked)
            await editor.until(lambda: editor.asked)
            assert not prompt.done()
            other.answers[PERMISSION] = choosing("allow")
            await other.peer.request("session/close", {"sessionId": session})
            await other.resume(session)
            assert await prompt == "end_turn"
    assert (tmp_path / "w" / "sub").is_dir()


async def test_a_bad_answer_about_a_buffer_leaves_the_saved_text(tmp_path: Path):
    folder, bad = tmp_path / "w", [None, {}, {"content": 7}, {"text": "typed"}, FAILURE]
    folder.mkdir()
    (folder / "a.txt").write_text("saved")
    reads = [reply(tool_use("Read", file_path=str(folder / "a.txt"))) for _ in bad]
    async with an_editor(folder, Script([*reads, reply(text("Read."))])) as editor:
        left = list(bad)
        editor.answers["fs/read_text_file"] = bad_answers(left)
        session = await editor.open(fs={"readTextFile": True})
        assert await editor.prompt(session, "read") == "end_turn"
        assert left == []
        assert {update["status"] for update in editor.of_kind("tool_call_update")} == {"completed"}
        assert "unsaved changes" not in str(editor.api and editor.api.main_requests[-1].body["messages"])


async def test_too_many_requests_at_once_are_refused(tmp_path: Path, behind: str):
    if behind == "socket":
        pytest.skip("the socket limits the rate of its messages")
    async with an_editor(tmp_path / "w", Script([reply(text("Here."))])) as editor:
        session = await editor.open()
        asked = [editor.peer.request("session/list", {}) for _ in range(600)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        refused = [one for one in answers if isinstance(one, BaseException)]
        assert {str(one) for one in refused} == {"too many requests at once, or this id is in use"}
        assert 0 < len(refused) < len(answers)
        assert await editor.prompt(session, "hello") == "end_turn"


async def test_a_message_that_is_too_long_for_the_socket_ends_it_and_not_the_session(tmp_path: Path):
    folder = tmp_path / "w"
    folder.mkdir()
    async with (
        ScriptedMessagesApi(Script([reply(text("One.")), reply(text("Two."))])) as api,
        asyncio.timeout(60),
        a_server(folder, api.url) as server,
    ):
        async with editor_on_socket(server, folder) as editor:
            session = await editor.open()
            assert await editor.prompt(session, "one") == "end_turn"
            with pytest.raises(RpcError, match="has ended"):
                await editor.prompt(session, "a" * 2 * 1024 * 1024)
        async with editor_of(server, folder) as other:
            await other.resume(session)
            assert await other.prompt(session, "two") == "end_turn"
            assert other.text() == "Two."


@pytest.mark.parametrize("folder", ["/etc", "..", "/no/such/folder", "\0"])
async def test_folders_that_the_server_does_not_offer_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
):
    monkeypatch.setenv("HANDRAIL_TEST_BEHIND", "server")
    async with an_editor(tmp_path / "w", Script([reply(text("Here."))])) as editor:
        session = await editor.open()
        for params in ({"cwd": folder}, {"cwd": str(editor.folder), "additionalDirectories": [folder]}):
            with pytest.raises(RpcError):
                await editor.peer.request("session/new", {"mcpServers": [], **params})
        assert await editor.prompt(session, "hello") == "end_turn"
