"""Questions of a session: shown to all clients, answered once, closed when withdrawn; and grants that lapse."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from tests.bridge.stage import Refused, Stage, Viewer, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")

ASKS = """
    while True:
        text = prompt()
        reply = ask("can_use_tool", **permission(command=text))
        say(result(reply["response"]))
"""
SUGGESTED = """
    rule = {"type": "addRules", "behavior": "allow", "destination": "localSettings",
            "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}]}
    bypass = {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}
    while True:
        text = prompt()
        fields = {**permission(command=text), "permission_suggestions": [rule, bypass]}
        reply = ask("can_use_tool", **fields)
        say(result(reply["response"]))
"""


async def asked_by(on: Stage, viewer: Viewer, session: str, text: str = "ls") -> dict[str, Any]:
    times = len(viewer.of("asked")) + 1
    await on.do("send", session=session, text=text)
    return await viewer.until_kind("asked", times)


async def test_first_answer_wins_and_all_clients_see_who_gave_it(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ASKS)) as on:
        session = await on.start()
        async with on.viewer(session) as one, on.viewer(session) as other:
            for n in range(6):
                asked = await asked_by(on, one, session)
                both = ("allow", "deny") if n % 2 else ("deny", "allow")
                answers = [on.answer(session, asked, what, device=what) for what in both]
                results = await asyncio.gather(*answers, return_exceptions=True)
                [winner] = [what for what, result in zip(both, results, strict=True) if result == {}]
                assert [result.code for result in results if isinstance(result, Refused)] == ["not_pending"]
                await one.until_result(n + 1)
                await other.until_kind("answered", n + 1)
                assert other.of("answered")[n]["by"] == winner
                assert f'"behavior": "{winner}"' in one.frames("result")[n]["result"]


PERMISSION: dict[str, Any] = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
PLAN: dict[str, Any] = {"tool_name": "ExitPlanMode", "input": {"plan": "1. Dig"}, "tool_use_id": "t2"}
CHOICE: dict[str, Any] = {"question": "Which?", "header": "h", "options": [{"label": "Red", "description": ""}]}
ASKED_USER: dict[str, Any] = {"tool_name": "AskUserQuestion", "input": {"questions": [CHOICE]}, "tool_use_id": "t3"}
SHOP: dict[str, Any] = {"mcp_server_name": "shop", "message": "Your size?"}
ANSWERS: list[tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]] = [
    (PERMISSION, "permission", {"behavior": "allow"}, {"behavior": "allow"}),
    (
        PERMISSION,
        "permission",
        {"behavior": "allow", "input": {"command": "ls -l"}},
        {"behavior": "allow", "updatedInput": {"command": "ls -l"}},
    ),
    (
        PERMISSION,
        "permission",
        {"behavior": "deny", "reason": "not here", "interrupt": True},
        {"behavior": "deny", "message": "not here", "interrupt": True},
    ),
    (
        PLAN,
        "plan",
        {"behavior": "allow", "mode": "acceptEdits"},
        {
            "behavior": "allow",
            "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
        },
    ),
    (PLAN, "plan", {"behavior": "deny", "reason": "deeper"}, {"behavior": "deny", "message": "deeper"}),
    (
        ASKED_USER,
        "questions",
        {"behavior": "allow", "answers": {"Which?": "Red"}},
        {"behavior": "allow", "updatedInput": {"questions": [CHOICE], "answers": {"Which?": "Red"}}},
    ),
    (
        SHOP,
        "elicitation",
        {"behavior": "allow", "content": {"size": 7}},
        {"action": "accept", "content": {"size": 7}},
    ),
    (SHOP, "elicitation", {"behavior": "deny"}, {"action": "decline"}),
]


async def test_every_kind_of_answer_reaches_the_cli(tmp_path: Path):
    script = """
        while True:
            asked = json.loads(prompt())
            kind = "can_use_tool" if "tool_name" in asked else "elicitation"
            say(result(ask(kind, **asked)["response"]))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            for n, (request, kind, answer, expected) in enumerate(ANSWERS):
                asked = await asked_by(on, viewer, session, json.dumps(request))
                assert (asked["kind"], asked["request"] | request) == (kind, asked["request"])
                await on.do("answer", session=session, question=asked["question"], hash=asked["hash"], **answer)
                response = json.loads((await viewer.until_result(n + 1))["result"])
                assert expected.items() <= response.items(), response


async def test_answer_that_does_not_match_the_question_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ASKS)) as on:
        session, another = await on.start(), await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            for fields, code in (
                ({"hash": "0" * 64}, "changed"),
                ({"question": "00000000-0000-4000-8000-000000000000"}, "not_pending"),
                ({"session": another}, "not_pending"),
                ({"updates": [{"index": 0}]}, "bad_answer"),
                ({"answers": {"Why?": "x"}}, "bad_answer"),
                ({"mode": "acceptEdits"}, "bad_answer"),
                ({"mode": "bypassPermissions"}, "bad_fields"),
                ({"behavior": "maybe"}, "bad_fields"),
                ({"everything": True}, "bad_fields"),
            ):
                with pytest.raises(Refused) as refused:
                    await on.answer(session, asked, **fields)
                assert refused.value.code == code, fields
            assert (await on.host(session)).state() == "waiting_approval"
            await on.answer(session, asked)
            await viewer.until_result()


async def test_withdrawn_question_closes_on_all_clients(tmp_path: Path):
    script = """
        prompt()
        request = {"subtype": "can_use_tool", **permission(command="ls")}
        say({"type": "control_request", "request_id": "r1", "request": request})
        hear()
        say({"type": "control_cancel_request", "request_id": "r1"})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as one, on.viewer(session) as other:
            asked = await asked_by(on, one, session)
            await on.do("send", session=session, text="withdraw it")
            for viewer in (one, other):
                closed = await viewer.until_kind("closed")
                assert (closed["question"], closed["why"]) == (asked["question"], "withdrawn")
            with pytest.raises(Refused) as refused:
                await on.answer(session, asked)
            assert refused.value.code == "not_pending"


async def test_question_withdrawn_while_stored_leaves_no_gap(tmp_path: Path):
    script = """
        prompt()
        request = {"subtype": "can_use_tool", **permission(command="ls")}
        for n in range(30):
            say({"type": "control_request", "request_id": f"r{n}", "request": request},
                {"type": "control_cancel_request", "request_id": f"r{n}"})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until_result()
            await viewer.until_state("idle")
            await viewer.until(lambda: len(viewer.of("closed")) == len(viewer.of("asked")))
            seqs = [event["seq"] for event in viewer.kept]
            assert seqs == list(range(1, len(seqs) + 1))
            assert (await on.host(session)).seq == (await on.bridge.sessions.events.bounds(session)).last


async def test_interrupt_closes_the_question(tmp_path: Path):
    script = """
        prompt()
        request = {"subtype": "can_use_tool", **permission(command="ls")}
        say({"type": "control_request", "request_id": "r1", "request": request})
        stop = requested("interrupt")
        say({"type": "control_cancel_request", "request_id": "r1"})
        say(failure("error_during_execution", "interrupted"))
        answer(stop, {"still_queued": []})
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            await on.do("interrupt", session=session)
            assert (await viewer.until_kind("closed"))["question"] == asked["question"]
            await viewer.until_state("idle")


async def test_end_of_the_process_closes_the_question(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ASKS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            stopping = asyncio.create_task(on.do("stop", session=session))
            answering = asyncio.create_task(on.answer(session, asked))
            await asyncio.wait([stopping, answering])
            await viewer.until_state("hibernated")
            assert len(viewer.of("answered")) + len(viewer.of("closed")) == 1
            with pytest.raises(Refused) as refused:
                await on.answer(session, asked)
            assert refused.value.code == "not_pending"


async def test_question_stays_open_without_clients(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ASKS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await asked_by(on, viewer, session)
        on.clock.now += 1_000_000
        await on.bridge.sessions.sweep()
        assert (await on.host(session)).state() == "waiting_approval"
        async with on.viewer(session) as viewer:
            await on.answer(session, await viewer.until_kind("asked"))
            await viewer.until_result()


async def test_more_than_a_hundred_open_questions_are_refused(tmp_path: Path):
    script = """
        prompt()
        request = {"subtype": "can_use_tool", **permission(command="ls")}
        say(*({"type": "control_request", "request_id": f"r{n}", "request": request} for n in range(150)))
        refused = [hear()["response"]["response"]["message"] for _ in range(50)]
        say(assistant(refused[0]))
        answer(requested("interrupt"))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            [line] = await viewer.until(lambda: viewer.frames("assistant"))
            assert line["message"]["content"][0]["text"].startswith("too_many_prompts")
            assert len(viewer.of("asked")) == 100
            assert len((await on.host(session)).questions) == 100


# Grants


async def test_granted_rule_has_the_chosen_scope(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SUGGESTED)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            with pytest.raises(Refused, match="an answer cannot grant bypassPermissions"):
                await on.answer(session, asked, updates=[{"index": 1}])
            await on.answer(session, asked, updates=[{"index": 0, "destination": "session"}])
            received = (await viewer.until_result())["result"]
            assert '"ruleContent": "ls:*"' in received
            assert '"destination": "session"' in received
            assert "localSettings" not in received


async def test_session_rules_lapse_and_are_granted_again(tmp_path: Path):
    script = f'open("{tmp_path}/argv", "a").write(" ".join(sys.argv) + chr(10))' + dedent(SUGGESTED)
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            await on.answer(session, asked, updates=[{"index": 0, "destination": "session"}])
            await viewer.until_result()
            host = await on.host(session)
            await on.do("stop", session=session)
            assert host.record.rules != []
            await on.do("resume", session=session)
            lapsed = await viewer.until_kind("lapsed")
            assert lapsed["rules"][0]["rules"] == [{"toolName": "Bash", "ruleContent": "ls:*"}]
            assert (host.record.rules, host.record.lapsed) == ([], lapsed["rules"])
            assert await on.do("grant_again", session=session) == {"rules": ["Bash(ls:*)"]}
            assert await on.do("grant_again", session=session) == {"rules": []}
            await on.do("resume", session=session)
            assert (host.record.rules, host.record.lapsed) == (lapsed["rules"], [])
            await on.do("stop", session=session)
            await on.do("resume", session=session)
            assert await viewer.until_kind("lapsed", 2) == lapsed, "the renewed grant was for one process"
        started = (tmp_path / "argv").read_text().splitlines()
        assert ["Bash(ls:*)" in line for line in started] == [False, False, True, False]


async def test_rule_granted_again_before_the_next_process_does_not_lapse(tmp_path: Path):
    script = f'open("{tmp_path}/argv", "a").write(" ".join(sys.argv) + chr(10))' + dedent(SUGGESTED)
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            await on.answer(session, asked, updates=[{"index": 0, "destination": "session"}])
            await viewer.until_result()
            await viewer.until_state("idle")
            assert await on.do("grant_again", session=session) == {"rules": []}, "it still applies"
            await on.do("stop", session=session)
            assert await on.do("grant_again", session=session) == {"rules": ["Bash(ls:*)"]}
            await on.do("resume", session=session)
            await viewer.until_kind("started", 2)
            assert viewer.of("lapsed") == []
        assert ["Bash(ls:*)" in line for line in (tmp_path / "argv").read_text().splitlines()] == [False, True]


@pytest.mark.one_server
async def test_rule_granted_just_before_a_kill_is_reported_as_lapsed(tmp_path: Path):
    cli = write_cli(tmp_path, SUGGESTED)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            asked = await asked_by(on, viewer, session)
            before = await on.bridge.sessions.index.get(session)
            assert before is not None
            await on.answer(session, asked, updates=[{"index": 0, "destination": "session"}])
            await viewer.until_result()
            data = await on.copy_store()
    with sqlite3.connect(data / "handrail.db") as db:  # the record was not stored before the kill
        db.execute("UPDATE session SET record = ?", (msgspec.json.encode(before),))
    db.close()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        await on.do("resume", session=session)
        assert (await viewer.until_kind("lapsed"))["rules"][0]["rules"] == [{"toolName": "Bash", "ruleContent": "ls:*"}]


async def test_granting_again_during_a_turn_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ASKS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await asked_by(on, viewer, session)
            with pytest.raises(Refused) as refused:
                await on.do("grant_again", session=session)
            assert refused.value.code == "busy"


@pytest.mark.parametrize("said", [True, False], ids=["after a turn", "without a message"])
@pytest.mark.one_server
async def test_bypass_is_never_restored(tmp_path: Path, said: bool):
    script = f"""
        open("{tmp_path}/argv", "a").write(" ".join(sys.argv) + chr(10))
        while True:
            say(result(prompt()))
    """
    cli = write_cli(tmp_path, script)
    async with stage(tmp_path, cli, allow_bypass=True) as on:
        session = await on.start(mode="bypassPermissions")
        async with on.viewer(session) as viewer:
            if said:
                await on.do("send", session=session, text="go")
                await viewer.until_result()
            await on.do("stop", session=session)
            with pytest.raises(Refused) as refused:
                await on.do("set_permission_mode", session=session, mode="bypassPermissions")
            assert refused.value.code == "not_running"
            await on.do("resume", session=session)
            assert (await viewer.until_kind("lapsed"))["mode"] == "bypassPermissions"
            assert (await on.host(session)).record.mode == "default"
            data = await on.copy_store()
        first, second = (tmp_path / "argv").read_text().splitlines()
        assert "--permission-mode=bypassPermissions" in first
        assert "--permission-mode=default" in second
    async with stage(tmp_path, cli, data=data, allow_bypass=True) as on:
        await on.do("resume", session=session)
        assert "--permission-mode=default" in (tmp_path / "argv").read_text().splitlines()[2]


BY_A_SUBAGENT = """
    text = prompt()
    say({"type": "system", "subtype": "task_started", "task_id": "a7", "subagent_type": "reviewer"})
    rule = {"type": "addRules", "behavior": "allow", "destination": "session",
            "rules": [{"toolName": "Bash", "ruleContent": "git log *"}]}
    prompt()
    fields = {**permission(command="git log"), "agent_id": "a7", "permission_suggestions": [rule]}
    reply = ask("can_use_tool", **fields)
    say(result(reply["response"]))
"""


async def test_question_describes_its_suggestions_and_its_subagent(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, BY_A_SUBAGENT)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="begin")
            await viewer.until(lambda: "task_started" in str(viewer.frames("system")))
            asked = await asked_by(on, viewer, session)
            [offer] = asked["suggestions"]
            assert (asked["agent"], offer["words"]) == ("reviewer", "every command that begins with `git log`")
            await on.answer(session, asked, updates=[{"index": offer["index"], "destination": offer["suggested"]}])
            result = await viewer.until_result()
            assert "git log *" in result["result"]
