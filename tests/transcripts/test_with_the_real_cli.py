"""handrail.transcripts against the CLI itself: it resumes what was forked, and both name folders alike."""

import asyncio
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.conform.messages_api import ScriptedMessagesApi
from handrail.testing.lab import Lab, real_cli
from handrail.transcripts import (
    Damage,
    find_session,
    fork_session,
    list_sessions,
    project_name,
    read_session,
    rename_session,
)

pytestmark = pytest.mark.interop


async def ask(lab: Lab, api: ScriptedMessagesApi, prompt: str, *flags: str) -> None:
    cli = real_cli()
    assert cli is not None, "no CLI: `make interop` installs one"
    process = await asyncio.create_subprocess_exec(
        cli, "-p", prompt, *flags, cwd=lab.project, env=lab.environment(api), stdin=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(60):
        assert await process.wait() == 0


def spoken(messages: list[dict[str, object]]) -> list[str]:
    """The plain texts of a request, without what the CLI adds to them."""
    contents = [message["content"] for message in messages if message["role"] != "system"]
    flat = [block for content in contents for block in ([{"text": content}] if isinstance(content, str) else content)]  # type: ignore[union-attr]
    return [block["text"] for block in flat if "text" in block and not str(block["text"]).startswith("<")]


async def test_cli_resumes_a_fork(tmp_path: Path):
    lab = Lab(tmp_path)
    parallel = [text("Running."), tool_use("Bash", command="echo 1"), tool_use("Bash", command="echo 2")]
    script = Script.of(text("Hi."), parallel, text("Both done."), text("Whole."), text("Half."))
    async with ScriptedMessagesApi(script) as api:
        home = lab.home / ".claude"
        await ask(lab, api, "hello")
        (session,) = list_sessions(lab.project, config_home=home)
        assert session.project == project_name(lab.project)
        await ask(lab, api, "go", "--resume", session.id, "--dangerously-skip-permissions")
        transcript = read_session(session.id, config_home=home)
        kinds = [block["type"] for entry in transcript.messages for block in entry.blocks()]
        assert kinds == ["text"] * 4 + ["tool_use"] * 2 + ["tool_result"] * 2 + ["text"]
        assert transcript.damage == Damage()

        whole = fork_session(session.id, title="A branch", config_home=home)
        await ask(lab, api, "more", "--resume", whole)
        assert spoken(api.main_requests[-1].messages) == ["hello", "Hi.", "go", "Running.", "Both done.", "more"]
        assert find_session(whole, home).title == "A branch"

        half = fork_session(session.id, up_to=transcript.messages[1].uuid, config_home=home)
        with find_session(half, home).path.open("ab") as stream:
            stream.write(b'{"type":"assistant","mess')
        rename_session(half, "Renamed after a crash", config_home=home)
        await ask(lab, api, "instead", "--resume", half)
        assert spoken(api.main_requests[-1].messages) == ["hello", "Hi.", "instead"]
        assert find_session(half, home).title == "Renamed after a crash"
