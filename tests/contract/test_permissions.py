"""May this tool run? Questions that the agent asks and the client answers; plans; forms with options."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from handrail import Allow, Deny, PermissionRequest, PermissionRuleValue, PermissionUpdate, Question
from handrail.schema.system_messages import InitMessage, PermissionDeniedMessage, StatusMessage
from handrail.testing import Lab, When, reply, text, tool_use
from tests.contract.conftest import Talk
from tests.interop.scenario import bash, of, results_seen

DONE = text("done")
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}


async def test_allowed_tool_runs(talk: Talk, lab: Lab):
    asked: list[PermissionRequest] = []

    async def decide(request: PermissionRequest) -> Allow:
        asked.append(request)
        return Allow()

    async with talk(bash("touch made.txt"), DONE, can_use_tool=decide) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    (request,) = asked
    assert (request.tool_name, request.input["command"]) == ("Bash", "touch made.txt")
    assert request.tool_use_id == results_seen(messages)[0].tool_use_id
    assert {suggestion.type for suggestion in request.suggestions} >= {"addRules"}
    assert (lab.project / "made.txt").exists()


async def test_denied_tool_does_not_run_and_the_model_gets_the_reason(talk: Talk, lab: Lab):
    told = reply(text("understood"), when=When(tool_result="not on a Sunday", failed=True))
    async with talk(bash("touch made.txt"), told, can_use_tool=lambda request: Deny("not on a Sunday")) as session:
        result = await session.ask("go")
    assert (result.text, [denial.tool_name for denial in result.permission_denials]) == ("understood", ["Bash"])
    assert not (lab.project / "made.txt").exists()


async def test_a_denial_may_end_the_turn(talk: Talk):
    no = Deny("stop it", interrupt=True)
    async with talk(bash("touch made.txt"), text("next"), can_use_tool=lambda request: no) as session:
        assert (await (await session.send("go"))).reason == "aborted_tools"
        assert (await session.ask("still there?")).text == "next"


async def test_a_tool_runs_with_the_input_it_is_given(talk: Talk, lab: Lab):
    def edit(request: PermissionRequest) -> Allow:
        return Allow(input={**request.input, "command": "touch other.txt"})

    async with talk(bash("touch made.txt"), DONE, can_use_tool=edit) as session:
        await session.ask("go")
    assert [path.name for path in lab.project.iterdir()] == ["other.txt"]


async def test_a_rule_of_the_session_saves_the_next_question(talk: Talk, lab: Lab):
    asked: list[str] = []
    rule = PermissionRuleValue(tool_name="Bash", rule_content="touch *")

    async def decide(request: PermissionRequest) -> Allow:
        asked.append(request.input["command"])
        return Allow(updates=[PermissionUpdate(type="addRules", rules=[rule], destination="session")])

    async with talk(bash("touch a"), bash("touch b"), DONE, can_use_tool=decide) as session:
        await session.ask("go")
    assert asked == ["touch a"]
    assert (lab.project / "b").exists()


async def test_a_suggestion_handed_back_lasts(talk: Talk, lab: Lab):
    def decide(request: PermissionRequest) -> Allow:
        return Allow(updates=[each for each in request.suggestions if each.destination == "localSettings"])

    async with talk(bash("touch a.txt"), DONE, can_use_tool=decide) as session:
        await session.ask("go")
    settings = json.loads((lab.project / ".claude" / "settings.local.json").read_text())
    assert settings["permissions"]["allow"] == ["Bash(touch a.txt)"]


async def test_a_mode_that_an_answer_sets_holds_at_once(talk: Talk, lab: Lab):
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Allow:
        asked.append(request.tool_name)
        return Allow(updates=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}])

    calls = [tool_use("Write", file_path=str(lab.project / name), content="x") for name in ("a.txt", "b.txt")]
    async with talk(*calls, DONE, can_use_tool=decide) as session:
        messages = [message async for message in await session.send("go")]
    assert asked == ["Write"]
    assert "acceptEdits" in {message.permission_mode for message in of(StatusMessage, messages)}


async def test_three_questions_are_open_at_once(talk: Talk, lab: Lab):
    together = asyncio.Barrier(3)
    paths = [lab.outside / name for name in ("a.txt", "b.txt", "c.txt")]
    for path in paths:
        path.write_text(f"this is {path.name}")

    async def decide(request: PermissionRequest) -> Allow | Deny:
        await together.wait()
        return Deny("not this one") if request.input["file_path"].endswith("b.txt") else Allow()

    async with talk([tool_use("Read", file_path=str(path)) for path in paths], DONE, can_use_tool=decide) as session:
        turn = await session.send("read them")
        messages = [message async for message in turn]
    assert sorted(result.is_error for result in results_seen(messages)) == [False, False, True]
    assert len(turn.result.permission_denials) == 1


async def test_a_question_is_withdrawn_when_the_turn_is_interrupted(talk: Talk, lab: Lab):
    asked: asyncio.Future[PermissionRequest] = asyncio.get_running_loop().create_future()
    cancelled = asyncio.Event()

    async def decide(request: PermissionRequest) -> Any:
        asked.set_result(request)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with talk(bash("touch made.txt"), text("fine"), can_use_tool=decide) as session:
        turn = await session.send("go")
        request = await asked
        await session.interrupt()
        await cancelled.wait()
        assert request.cancelled.is_set()
        assert (await turn).reason == "aborted_tools"
        assert (await session.ask("again")).text == "fine"
    assert not (lab.project / "made.txt").exists()


async def test_a_callback_that_fails_denies(talk: Talk, lab: Lab):
    async def decide(request: PermissionRequest) -> Allow:
        raise LookupError("no idea")

    told = reply(DONE, when=When(tool_result="no idea"))
    async with talk(bash("touch made.txt"), told, can_use_tool=decide) as session:
        assert (await session.ask("go")).text == "done"
    assert not (lab.project / "made.txt").exists()


async def test_a_callback_may_use_the_session_that_asks_it(talk: Talk):
    async def decide(request: PermissionRequest) -> Allow:
        assert (await session.get_binary_version()).version
        return Allow()

    async with talk(bash("touch a.txt"), DONE, can_use_tool=decide) as session:
        assert (await session.ask("go")).text == "done"


async def test_without_a_callback_no_tool_runs(talk: Talk, lab: Lab):
    async with talk(bash("touch made.txt"), DONE) as session:
        messages = [message async for message in await session.send("go")]
    assert [denied.tool_name for denied in of(PermissionDeniedMessage, messages)] == ["Bash"]
    assert not (lab.project / "made.txt").exists()


async def test_a_question_to_the_human_has_an_answer(talk: Talk):
    given: list[Question] = []

    async def answer(questions: list[Question]) -> Any:
        given.extend(questions)
        return {"Which colour?": "Blue"}

    told = reply(text("thanks"), when=When(tool_result='"Which colour?"="Blue"'))
    async with talk(tool_use("AskUserQuestion", questions=[COLOUR]), told, answer_questions=answer) as session:
        assert (await session.ask("go")).text == "thanks"
    assert [option.label for option in given[0].options] == ["Red", "Blue"]


async def test_a_question_may_be_left_open(talk: Talk):
    call = tool_use("AskUserQuestion", questions=[COLOUR])
    told = reply(text("a pity"), when=When(failed=True))
    async with talk(call, told, answer_questions=lambda questions: None) as session:
        assert (await session.ask("go")).text == "a pity"


async def test_an_approved_plan_ends_the_planning(talk: Talk, lab: Lab):
    replies = [tool_use("ExitPlanMode", plan="1. touch it"), bash("touch it.txt"), text("built"), text("later")]
    options: dict[str, Any] = {"approve_plan": lambda request: Allow(), "can_use_tool": lambda request: True}
    async with talk(*replies, permission_mode="plan", **options) as session:
        first = [message async for message in await session.send("plan and build")]
        second = [message async for message in await session.send("and now?")]
    assert (lab.project / "it.txt").exists()
    assert [message.permission_mode for message in of(InitMessage, [*first, *second])] == ["plan", "default"]


async def test_a_rejected_plan_is_thought_over(talk: Talk):
    again = reply(text("I will think again."), when=When(tool_result="too bold"))
    replies = [tool_use("ExitPlanMode", plan="1. delete it"), again, text("later")]
    async with talk(*replies, permission_mode="plan", approve_plan=lambda request: Deny("too bold")) as session:
        assert (await session.ask("plan")).text == "I will think again."
        second = [message async for message in await session.send("and now?")]
    assert of(InitMessage, second)[0].permission_mode == "plan"
