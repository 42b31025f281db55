"""The initialize request and its answer."""

from __future__ import annotations

from handrail.agent.models.script import text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal, expect_fields
from handrail.conform.lines import kinds, nested, of_type


@check("initialize", "initialize is answered with commands, agents, models, the account and the output styles.")
async def answer(bench: Bench) -> None:
    agent = await bench.start()
    answer = await agent.request("initialize")
    expect_equal("answer", answer.get("subtype"), "success")
    wanted = {"commands": list, "agents": list, "models": list, "account": dict, "output_style": str}
    expect_fields(nested(answer, "response"), {**wanted, "available_output_styles": list}, "answer")


@check("initialize", "The answer to initialize lists the pending questions; a new session has an empty list.")
async def pending_questions(bench: Bench) -> None:
    agent = await bench.start()
    answer = await agent.request("initialize")
    expect_equal("pending_permission_requests", answer.get("pending_permission_requests"), [])
    expect_equal("pending_user_dialog_requests", answer.get("pending_user_dialog_requests"), [])


@check(
    "initialize", "The answer gives each command a name and a description, and each model a value and a display name."
)
async def command_and_model_fields(bench: Bench) -> None:
    agent = await bench.start()
    response = (await agent.request("initialize"))["response"]
    for command in response["commands"]:
        expect_fields(command, {"name": str, "description": str, "argumentHint": str}, "a command")
    for model in response["models"]:
        expect_fields(model, {"value": str, "displayName": str}, "a model")
    expect(response["models"] and response["commands"], "the list of models or commands is empty")


@check("initialize", "initialize does not cause a system/init line; the first turn does.")
async def no_init_before_a_turn(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    await agent.request("mcp_status")
    expect_equal("system/init lines", len(of_type(agent.lines, "system", "init")), 0)
    expect_equal("exit code", await agent.end(), 0)


@check("initialize", "A prompt may be sent right after initialize, before its answer arrives.")
async def pipelined(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    request = await agent.send_request("initialize")
    await agent.prompt("hello")
    expect_equal("answer", (await agent.answer_to(request)).get("subtype"), "success")
    expect_equal("result", (await agent.result()).get("result"), "Fine.")
    order = [line.get("type") for line in agent.lines if line.get("type") in ("control_response", "result")]
    expect_equal("order", order, ["control_response", "result"])


@check("initialize", "A session works without initialize.")
async def optional(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    expect_equal("result", (await agent.turn("hello"))[-1].get("result"), "Fine.")


@check("initialize", "Invalid hooks are answered with an error, and the session continues.")
async def invalid_hooks(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    answer = await agent.request("initialize", hooks={"PreToolUse": "nonsense"})
    expect_equal("answer", answer.get("subtype"), "error")
    expect_fields(answer, {"error": str}, "answer")
    expect_equal("result", (await agent.turn("hello"))[-1].get("result"), "Fine.")


@check("initialize", "Agents defined in initialize appear in system/init of the next turn.")
async def agents(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    defined = {"gardener": {"description": "waters plants", "prompt": "You water plants."}}
    await agent.request("initialize", agents=defined)
    init = of_type(await agent.turn("hello"), "system", "init")[0]
    expect("gardener" in init["agents"], f"agents: {init['agents']}")


@check("initialize", "A system prompt given in initialize is sent to the model.")
async def system_prompt(bench: Bench) -> None:
    bench.says(text("Arr."))
    agent = await bench.start()
    await agent.request("initialize", systemPrompt=["You are a lighthouse keeper."])
    await agent.turn("hello")
    told = str(bench.model.main_requests[0].body.get("system"))
    expect("You are a lighthouse keeper." in told, "the request to the model lacks the system prompt")


@check("initialize", "Without any input the agent writes nothing and exits with code 0 at end of input.")
async def no_input(bench: Bench) -> None:
    agent = await bench.start()
    expect_equal("exit code", await agent.end(), 0)
    expect_equal("lines on stdout", kinds(agent.lines), "nothing")
