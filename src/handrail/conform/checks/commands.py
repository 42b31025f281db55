"""Slash commands: those that the agent answers itself, those that become prompts, and texts that are none."""

from __future__ import annotations

from handrail.agent.models.script import text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same
from handrail.conform.lines import of, sent_text, told


@check("slash", "A local command is answered without the model: init, an assistant line, a result with num_turns 0.")
async def local(bench: Bench) -> None:
    lines = await (await bench.start()).turn("/cost")
    same("requests to the model", len(bench.model.main_requests), 0)
    parts = [line["type"] for line in lines if line["type"] in ("assistant", "result")]
    same("the lines", parts, ["assistant", "result"])
    same("system/init lines", len(of(lines, "system", "init")), 1)
    same("num_turns", lines[-1].get("num_turns"), 0)
    same("the result", lines[-1].get("result"), told(lines))
    same("the model of the line", of(lines, "assistant")[0]["message"].get("model"), "<synthetic>")


@check("slash", "/clear tells conversation_reset, begins a new session, and forgets.")
async def clear(bench: Bench) -> None:
    bench.says(text("Noted."), text("What word?"))
    agent = await bench.start()
    first = (await agent.turn("the word is marzipan"))[-1]["session_id"]
    lines = await agent.turn("/clear")
    same("conversation_reset lines", len(of(lines, "conversation_reset")), 1)
    second = (await agent.turn("which word?"))[-1]["session_id"]
    expect(first != second, "the session kept its id")
    expect("marzipan" not in sent_text(bench.model.main_requests[1].body), "the model was sent the old turn")


@check("slash", "A command of .claude/commands becomes its text, with its arguments.")
async def custom(bench: Bench) -> None:
    folder = bench.lab.project / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "praise.md").write_text("Write praise for $ARGUMENTS in one line.\n")
    bench.says(text("Ada is great."))
    lines = await (await bench.start()).turn("/praise Ada")
    expect(
        "Write praise for Ada in one line." in sent_text(bench.model.main_requests[0].body),
        "the model got another text",
    )
    same("the result", lines[-1].get("result"), "Ada is great.")
    expect("praise" in of(lines, "system", "init")[0]["slash_commands"], "system/init does not list it")


@check("slash", "A slash and a word that is no command go to the model as they are.")
async def unknown(bench: Bench) -> None:
    bench.says(text("I do not know that one."))
    lines = await (await bench.start()).turn("/no-such-command at all")
    expect("/no-such-command at all" in sent_text(bench.model.main_requests[0].body), "the model got another text")
    same("the result", lines[-1].get("result"), "I do not know that one.")


@check("slash", "/compact tells compact_boundary, and later requests have the summary in place of the history.")
async def compact(bench: Bench) -> None:
    bench.says(text("Noted."), text("<summary>The summary says: marzipan.</summary>"), text("Marzipan."))
    agent = await bench.start()
    await agent.turn(f"remember: {'a long story ' * 50}")
    lines = await agent.turn("/compact")
    same("system/compact_boundary lines", len(of(lines, "system", "compact_boundary")), 1)
    await agent.turn("what was it?")
    sent = sent_text(bench.model.main_requests[-1].body)
    expect("The summary says: marzipan." in sent, "the model was not sent the summary")
