"""Defaults apply to omitted fields and never exceed the scopes of a device."""

from __future__ import annotations

from pathlib import Path

from handrail.bridge.commands.defaults import Chosen, Defaults
from tests.bridge.stage import Stage, stage
from tests.client.scripted_cli import write_cli

ARGUED = """
    open(sys.argv[1] + ".argv", "a").write(json.dumps(sys.argv) + chr(10))
"""
DEFAULTS = Chosen(model="opus", mode="acceptEdits", effort="high", thinking_tokens=7, output_style="Concise")


async def options(on: Stage, session: str) -> tuple[str, dict[str, object]]:
    record = (await on.host(session)).record
    names = ("model", "effort", "max_thinking_tokens", "output_style")
    return record.mode, {name: record.options[name] for name in names if name in record.options}


def started(cli: str) -> list[str]:
    return Path(f"{cli}.script.argv").read_text().splitlines()


async def test_defaults_fill_omitted_fields_and_null_overrides_them(tmp_path: Path):
    cli = write_cli(tmp_path, ARGUED)
    async with stage(tmp_path, cli) as on:
        await on.bridge.defaults.put(DEFAULTS)
        all_of_them = {"model": "opus", "effort": "high", "max_thinking_tokens": 7, "output_style": "Concise"}
        assert await options(on, await on.start()) == ("acceptEdits", all_of_them)
        others = await on.start(model=None, mode="plan", effort=None, thinking_tokens=9, output_style=None)
        assert await options(on, others) == ("plan", {"max_thinking_tokens": 9})
    first, second = started(cli)
    assert "--effort=high" in first
    assert "--max-thinking-tokens=7" in first
    assert "--settings=" in first
    assert "--settings=" not in second


async def test_permissive_default_mode_needs_the_scope_to_choose_it(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ARGUED)) as on:
        await on.bridge.defaults.put(DEFAULTS)
        session = await on.start(scopes=frozenset({"view", "prompt"}))
        assert (await options(on, session))[0] == "default"
        await on.bridge.defaults.put(Chosen(mode="plan"))
        assert (await options(on, await on.start(scopes=frozenset({"view", "prompt"}))))[0] == "plan"


async def test_unreadable_defaults_are_ignored(tmp_path: Path):
    async with stage(tmp_path) as on:
        await on.bridge.database.execute("REPLACE INTO chosen VALUES ('defaults', ?)", (b'{"tomorrow": 1}',))
        assert await Defaults(on.bridge.database).get() == Chosen()


async def test_fork_keeps_the_output_style(tmp_path: Path):
    async with stage(tmp_path) as on:
        origin = await on.start(output_style="Concise", prompt="Hello")
        async with on.viewer(origin) as viewer:
            await viewer.until_result()
        fork = (await on.do("fork", session=origin))["session"]["id"]
        assert (await options(on, fork))[1] == {"output_style": "Concise"}
