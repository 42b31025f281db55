"""The start: the initialize request, what may precede it, and when a turn tells of itself."""

from __future__ import annotations

from handrail.agent.models.script import text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same, typed
from handrail.conform.lines import inside, kinds, of


@check("initialize", "initialize is answered with commands, agents, models, the account and the output styles.")
async def answer(bench: Bench) -> None:
    agent = await bench.start()
    answer = await agent.request("initialize")
    same("the answer", answer.get("subtype"), "success")
    wanted = {"commands": list, "agents": list, "models": list, "account": dict, "output_style": str}
    typed(inside(answer, "response"), {**wanted, "available_output_styles": list}, "the answer")


@check("initialize", "Beside the answer to initialize stand the questions that are open: none.")
async def pending_lists(bench: Bench) -> None:
    agent = await bench.start()
    answer = await agent.request("initialize")
    same("pending_permission_requests", answer.get("pending_permission_requests"), [])
    same("pending_user_dialog_requests", answer.get("pending_user_dialog_requests"), [])


@check(
    "initialize", "Every command of the answer has a name and a description, every model a value and a name to show."
)
async def lists(bench: Bench) -> None:
    agent = await bench.start()
    response = (await agent.request("initialize"))["response"]
    for command in response["commands"]:
        typed(command, {"name": str, "description": str, "argumentHint": str}, "a command")
    for model in response["models"]:
        typed(model, {"value": str, "displayName": str}, "a model")
    expect(response["models"] and response["commands"], "there are no models or no commands")


@check("initialize", "Nothing tells of a turn before there is one: no system/init follows initialize.")
async def no_init_line(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    await agent.request("mcp_status")
    same("system/init lines", len(of(agent.lines, "system", "init")), 0)
    same("the exit code", await agent.end(), 0)


@check("initialize", "initialize and a prompt may be sent together before anything is answered.")
async def pipelined(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    request = await agent.ask("initialize")
    await agent.prompt("hello")
    same("the answer", (await agent.answered(request)).get("subtype"), "success")
    same("the result", (await agent.result()).get("result"), "Fine.")
    order = [line.get("type") for line in agent.lines if line.get("type") in ("control_response", "result")]
    same("the order", order, ["control_response", "result"])


@check("initialize", "A session works without initialize.")
async def is_optional(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    same("the result", (await agent.turn("hello"))[-1].get("result"), "Fine.")


@check("initialize", "Hooks that are no object of lists get an error as answer, and the session goes on.")
async def bad_hooks(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    answer = await agent.request("initialize", hooks={"PreToolUse": "nonsense"})
    same("the answer", answer.get("subtype"), "error")
    typed(answer, {"error": str}, "the answer")
    same("the result", (await agent.turn("hello"))[-1].get("result"), "Fine.")


@check("initialize", "Agents that initialize defines are in the list of agents of the next turn.")
async def agents(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    defined = {"gardener": {"description": "waters plants", "prompt": "You water plants."}}
    await agent.request("initialize", agents=defined)
    init = of(await agent.turn("hello"), "system", "init")[0]
    expect("gardener" in init["agents"], f"the agents are {init['agents']}")


@check("initialize", "A system prompt given in initialize is what the model is told.")
async def system_prompt(bench: Bench) -> None:
    bench.says(text("Arr."))
    agent = await bench.start()
    await agent.request("initialize", systemPrompt=["You are a lighthouse keeper."])
    await agent.turn("hello")
    told = str(bench.model.main_requests[0].body.get("system"))
    expect("You are a lighthouse keeper." in told, "the model was told something else")


@check("initialize", "An agent that gets no input says nothing, and ends with 0 when its input ends.")
async def silence(bench: Bench) -> None:
    agent = await bench.start()
    same("the exit code", await agent.end(), 0)
    same("lines on stdout", kinds(agent.lines), "nothing")
