"""Permission callbacks."""

import asyncio
import threading
from functools import partial
from typing import Any

import pytest

from handrail import (
    Allow,
    ControlRefused,
    Deny,
    Options,
    PermissionRequest,
    PermissionRuleValue,
    PermissionUpdate,
)
from handrail.client.callbacks import MOST_AT_ONCE, MOST_WAITING, Callbacks, call
from handrail.protocol import Request
from handrail.testing import ScriptedCli, asks, hold, together
from tests.client.asking import BASH, answer, answers, returns
from tests.client.conversation import joined

# Permissions


ADD_RULE = PermissionUpdate(rules=[PermissionRuleValue(tool_name="Bash", rule_content="ls *")])


WIRE_RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
    "behavior": "allow",
    "destination": "session",
}


ALLOWED = {"behavior": "allow", "updatedInput": {"command": "ls"}}
"""The input of the request, which older CLIs require in the answer."""


DECISIONS: list[tuple[Any, dict[str, Any]]] = [
    (Allow(), ALLOWED),
    (True, ALLOWED),
    (Allow(input={"command": "ls -l"}), {"behavior": "allow", "updatedInput": {"command": "ls -l"}}),
    (Allow(input={}), {"behavior": "allow", "updatedInput": {}}),
    (Allow(updates=[ADD_RULE]), {**ALLOWED, "updatedPermissions": [WIRE_RULE]}),
    (Allow(updates=[WIRE_RULE]), {**ALLOWED, "updatedPermissions": [WIRE_RULE]}),
    (
        Allow(classification="user_permanent"),
        {**ALLOWED, "decisionClassification": "user_permanent"},
    ),
    (Deny(), {"behavior": "deny", "message": "The user denied this tool."}),
    (False, {"behavior": "deny", "message": "The user denied this tool."}),
    (Deny("Not today."), {"behavior": "deny", "message": "Not today."}),
    (Deny(""), {"behavior": "deny", "message": "The user denied this tool."}),
    (Deny("Stop.", interrupt=True), {"behavior": "deny", "message": "Stop.", "interrupt": True}),
    (
        Deny("No.", classification="user_reject"),
        {"behavior": "deny", "message": "No.", "decisionClassification": "user_reject"},
    ),
]


@pytest.mark.parametrize(("decision", "expected"), DECISIONS)
async def test_decision_has_the_tool_use_id(decision: Any, expected: dict[str, Any]):
    assert await answer(Options(can_use_tool=returns(decision)), BASH) == {**expected, "toolUseID": "toolu_1"}


async def test_request_has_all_fields():
    asked: list[PermissionRequest] = []

    async def decide(request: PermissionRequest) -> Allow:
        asked.append(request)
        return Allow()

    fields: dict[str, Any] = {
        "tool_name": "mcp__a__b",
        "display_name": "B",
        "title": "T",
        "input": {"x": 1},
        "description": "what it does",
        "tool_use_id": "toolu_9",
        "permission_suggestions": [WIRE_RULE, {"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
        "blocked_path": "/etc",
        "decision_reason": "outside",
        "decision_reason_type": "workingDir",
        "requires_user_interaction": True,
        "agent_id": "agent-1",
        "mcp_server": {"name": "a", "source": "user"},
        "classifier_approvable": True,
        "suppress_always_allow_rule": True,
        "server_policy_ask_only": True,
        "default_to_no": True,
        "of_tomorrow": 5,
    }
    await answer(Options(can_use_tool=decide), asks("can_use_tool", **fields))
    (request,) = asked
    plain = {name: value for name, value in fields.items() if name not in ("permission_suggestions", "mcp_server")}
    del plain["of_tomorrow"]
    assert {name: getattr(request, name) for name in plain} == plain
    assert request.mcp_server is not None
    assert request.mcp_server.name == "a"
    assert request.suggestions[0] == ADD_RULE
    assert request.suggestions[1].mode == "acceptEdits"  # type: ignore[attr-defined]
    assert request.extra == {"of_tomorrow": 5}
    assert not request.cancelled.is_set()


async def test_all_suggestions_can_be_returned_even_unknown_ones():
    suggestions = [WIRE_RULE, {"type": "grantWish", "wishes": 3}]

    async def decide(request: PermissionRequest) -> Allow:
        return Allow(updates=request.suggestions)

    told = await answer(
        Options(can_use_tool=decide), asks("can_use_tool", tool_name="Bash", permission_suggestions=suggestions)
    )
    assert told["updatedPermissions"] == suggestions


async def test_plain_function_runs_in_a_thread():
    here, met = threading.current_thread(), threading.Barrier(3, timeout=5)

    def decide(request: PermissionRequest) -> Allow:
        assert threading.current_thread() is not here
        met.wait()  # all three run at once
        return Allow(input={"n": request.input["n"]})

    requests = [asks("can_use_tool", tool_name="Read", input={"n": n}, tool_use_id=str(n)) for n in range(3)]
    told = await answers(Options(can_use_tool=decide), together(*requests))
    assert sorted((one["toolUseID"], one["updatedInput"]["n"]) for one in told) == [("0", 0), ("1", 1), ("2", 2)]


@pytest.mark.parametrize("mistake", [None, "allow", {"behavior": "allow"}])
async def test_callback_with_an_invalid_result_denies_with_an_explanation(mistake: Any):
    told = await answer(Options(can_use_tool=returns(mistake)), BASH)
    assert isinstance(told, ControlRefused)
    assert f"returned {type(mistake).__name__}; it must return Allow or Deny" in told.error


async def test_failing_callback_denies_and_the_session_continues(caplog: pytest.LogCaptureFixture):
    async def decide(_: object) -> Allow:
        raise ValueError("no idea")

    told = await answers(Options(can_use_tool=decide), BASH, BASH)
    assert [one.error for one in told] == ["ValueError: no idea"] * 2
    assert "the handler of can_use_tool failed" in caplog.text


async def test_callback_cancelled_from_inside_denies():
    async def decide(_: PermissionRequest) -> None:
        stopped = asyncio.get_running_loop().create_future()
        stopped.cancel()
        await stopped

    refused = await answer(Options(can_use_tool=decide), BASH)
    assert isinstance(refused, ControlRefused)
    assert refused.error == "CancelledError: "


async def test_unencodable_answer_is_refused():
    told = await answer(Options(can_use_tool=returns(Allow(input={"what": object()}))), BASH)
    assert isinstance(told, ControlRefused)
    assert "TypeError" in told.error


async def test_request_without_a_tool_name_is_refused():
    told = await answer(Options(can_use_tool=returns(Allow())), asks("can_use_tool", input={}))
    assert isinstance(told, ControlRefused)
    assert (told.code, "tool_name" in told.error) == ("invalid_request", True)


async def test_tool_is_denied_without_a_callback():
    told = await answer(Options(), BASH)
    assert told == {
        "behavior": "deny",
        "message": "No permission callback is set, so the tool was not run.",
        "toolUseID": "toolu_1",
    }


async def test_withdrawn_request_cancels_the_callback():
    asked: asyncio.Future[PermissionRequest] = asyncio.get_running_loop().create_future()
    cancelled = asyncio.Event()

    async def decide(request: PermissionRequest) -> Allow:
        asked.set_result(request)
        try:
            return await asyncio.Future[Allow]()
        finally:
            cancelled.set()

    cli = ScriptedCli([[BASH]])
    async with joined(cli, Options(can_use_tool=decide)) as session:
        turn = await session.send("Hi")
        request = await asked
        await session.interrupt()
        assert (await turn).is_error
        await cancelled.wait()
        await request.cancelled.wait()
    assert cli.answers == []
    assert not [line for line in cli.heard if line["type"] == "control_response"]


async def test_withdrawn_request_drops_the_answer_of_a_plain_function():
    seen, asked, finished = threading.Event(), threading.Event(), threading.Event()

    def decide(request: PermissionRequest) -> Allow:
        asked.set()
        seen.wait(5)
        finished.set() if request.cancelled.is_set() else None
        return Allow()

    cli = ScriptedCli([[BASH]])
    async with joined(cli, Options(can_use_tool=decide)) as session:
        turn = await session.send("Hi")
        await asyncio.to_thread(asked.wait, 5)
        await session.interrupt()
        await turn
        await session.rename_session("T")
        seen.set()
        assert await asyncio.to_thread(finished.wait, 5)
    assert cli.answers == []


async def test_session_closes_even_if_a_plain_callback_never_returns():
    stuck, asked = threading.Event(), threading.Event()

    def decide(_: object) -> Allow:
        asked.set()
        stuck.wait(60)
        return Allow()

    try:
        async with joined(ScriptedCli([[BASH]]), Options(can_use_tool=decide)) as session:
            await session.send("Hi")
            await asyncio.to_thread(asked.wait, 5)
    finally:
        stuck.set()


# Questions and plans


async def test_all_kinds_of_callables_are_supported():
    async def plain_async(x: int) -> int:
        return x + 1

    class Async:
        async def __call__(self, x: int) -> int:
            return x + 1

    class Plain:
        def __call__(self, x: int) -> int:
            return x + 1

    functions: list[Any] = [
        plain_async,
        Async(),
        Plain(),
        partial(plain_async),
        lambda x: x + 1,
        lambda x: plain_async(x),
    ]
    assert [await call(function, 1) for function in functions] == [2] * 6


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_system_exit_ends_only_the_callback(error: BaseException):
    def fail() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"the callback raised {type(error).__name__}"):
        await call(fail)


async def test_callback_may_return_after_its_loop_was_closed():
    stuck, left = threading.Event(), threading.Event()

    def wait() -> None:
        stuck.wait(5)
        left.set()

    def run() -> None:
        async def give_up() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call(wait), 0.01)

        asyncio.run(give_up())

    await asyncio.to_thread(run)
    stuck.set()
    assert await asyncio.to_thread(left.wait, 5)


async def test_requests_are_answered_between_turns():
    cli = ScriptedCli([[hold("end")]])
    async with joined(cli, Options(can_use_tool=returns(Allow()))) as session:
        assert await cli.ask("can_use_tool", tool_name="Read", tool_use_id="t") == {
            "behavior": "allow",
            "updatedInput": {},
            "toolUseID": "t",
        }
        assert not session.running


async def test_callbacks_and_waiting_requests_are_bounded():
    """A CLI that floods its host with requests gets a bounded number of threads, and then refusals."""
    release, lock, counts = threading.Event(), threading.Lock(), {"now": 0, "most": 0}

    def slow(request: PermissionRequest) -> Allow:
        with lock:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
        release.wait(30)
        with lock:
            counts["now"] -= 1
        return Allow()

    handler = Callbacks(Options(can_use_tool=slow)).handlers["can_use_tool"]
    body = b'{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}'
    accepted = MOST_AT_ONCE + MOST_WAITING
    tasks = [asyncio.ensure_future(handler(Request(body, str(n), "can_use_tool", body))) for n in range(accepted + 5)]
    refused, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    release.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert refused
    assert [str(one) for one in found if isinstance(one, Exception)] == [
        f"{accepted} requests are waiting for an answer; no more are accepted until some are answered"
    ] * 5
    assert counts["most"] <= MOST_AT_ONCE
    assert await handler(Request(body, "again", "can_use_tool", body)) == {
        "behavior": "allow",
        "updatedInput": {},
        "toolUseID": "t",
    }
