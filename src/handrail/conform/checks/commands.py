"""Slash commands: local, custom, unknown."""

from __future__ import annotations

from handrail.agent.models.script import text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal
from handrail.conform.lines import of_type, sent_text, text_of


@check("slash", "A local command writes init, an assistant line and a result with num_turns 0, without the model.")
async def local(bench: Bench) -> None:
    lines = await (await bench.start()).turn("/cost")
    expect_equal("requests to the model", len(bench.model.main_requests), 0)
    parts = [line["type"] for line in lines if line["type"] in ("assistant", "result")]
    expect_equal("lines", parts, ["assistant", "result"])
    expect_equal("system/init lines", len(of_type(lines, "system", "init")), 1)
    expect_equal("num_turns", lines[-1].get("num_turns"), 0)
    expect_equal("result", lines[-1].get("result"), text_of(lines))
    expect_equal("model", of_type(lines, "assistant")[0]["message"].get("model"), "<synthetic>")


@check("slash", "/clear writes conversation_reset and starts a new session without the history.")
async def clear(bench: Bench) -> None:
    bench.says(text("Noted."), text("What word?"))
    agent = await bench.start()
    first = (await agent.turn("the word is marzipan"))[-1]["session_id"]
    lines = await agent.turn("/clear")
    expect_equal("conversation_reset lines", len(of_type(lines, "conversation_reset")), 1)
    second = (await agent.turn("which word?"))[-1]["session_id"]
    expect(first != second, "the session id did not change")
    expect(
        "marzipan" not in sent_text(bench.model.main_requests[1].body),
        "the request to the model still contains the earlier turn",
    )


@check("slash", "A command in .claude/commands is expanded with its arguments and sent to the model.")
async def custom(bench: Bench) -> None:
    folder = bench.lab.project / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "praise.md").write_text("Write praise for $ARGUMENTS in one line.\n")
    bench.says(text("Ada is great."))
    lines = await (await bench.start()).turn("/praise Ada")
    expect(
        "Write praise for Ada in one line." in sent_text(bench.model.main_requests[0].body),
        "the request to the model lacks this text",
    )
    expect_equal("result", lines[-1].get("result"), "Ada is great.")
    expect("praise" in of_type(lines, "system", "init")[0]["slash_commands"], "system/init does not list the command")


@check("slash", "An unknown slash command is sent to the model as it is.")
async def unknown(bench: Bench) -> None:
    bench.says(text("I do not know that one."))
    lines = await (await bench.start()).turn("/no-such-command at all")
    expect(
        "/no-such-command at all" in sent_text(bench.model.main_requests[0].body),
        "the request to the model lacks this text",
    )
    expect_equal("result", lines[-1].get("result"), "I do not know that one.")


@check("slash", "/compact writes compact_boundary, and later requests contain the summary.")
async def compact(bench: Bench) -> None:
    bench.says(text("Noted."), text("<summary>The summary says: marzipan.</summary>"), text("Marzipan."))
    agent = await bench.start()
    await agent.turn(f"remember: {'a long story ' * 50}")
    lines = await agent.turn("/compact")
    expect_equal("system/compact_boundary lines", len(of_type(lines, "system", "compact_boundary")), 1)
    await agent.turn("what was it?")
    sent = sent_text(bench.model.main_requests[-1].body)
    expect("The summary says: marzipan." in sent, "the request to the model lacks the summary")
