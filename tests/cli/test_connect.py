"""`handrail connect`: keys are checked, stored and never printed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text
from handrail.conform.messages_api import ScriptedMessagesApi
from handrail.model_access.stored import ModelAccess, load_access
from tests.cli.command import at_a_terminal, piped

KEY = "sk-test-0123456789"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    no_key = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "HANDRAIL_SCRIPT", "XDG_CONFIG_HOME"), "")
    return {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "PATH": "/usr/bin:/bin", **no_key}


def test_nothing_connected_is_demo_mode(environment: dict[str, str]):
    done = piped("connect", **environment)
    assert (done.returncode, done.stdout.startswith(b"Demo mode: no model is connected.")) == (0, True)


async def test_accepted_key_is_stored_and_can_be_forgotten(environment: dict[str, str]):
    async with ScriptedMessagesApi(Script.of(text("x"))) as api:
        flags = ("--key", "--endpoint", api.url, "--model", "house-model")
        done = await asyncio.to_thread(piped, "connect", *flags, given=f"{KEY}\n", **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"model house-model through the Messages API at {api.url}" in done.stdout.decode()
    assert KEY not in done.stdout.decode()
    assert load_access(environment) == ModelAccess("api", KEY, api.url, "house-model")
    done = piped("connect", "--forget", **environment)
    assert (done.returncode, load_access(environment)) == (0, None)
    assert b"the connected model was forgotten\nDemo mode" in done.stdout


def test_rejected_key_is_not_stored(environment: dict[str, str]):
    flags = ("--key", "--endpoint", "http://127.0.0.1:9", "--model", "m")
    done = piped("connect", *flags, given=KEY, **environment)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"handrail connect: cannot reach http://127.0.0.1:9")
    assert KEY.encode() not in done.stderr
    assert load_access(environment) is None


def test_typed_key_is_not_echoed(environment: dict[str, str]):
    with at_a_terminal("connect", "--key", "--endpoint", "http://127.0.0.1:9", "--model", "m", **environment) as screen:
        screen.shows("API key (not shown): ")
        screen.type(KEY)
        screen.shows("cannot reach http://127.0.0.1:9")
        assert (screen.ends(), KEY in screen.text) == (1, False)


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (("--claude",), 1, "claude is not installed; install it with"),
        (("--key", "--claude"), 2, "choose one of"),
        (("--model", "m"), 2, "--model needs"),
        (("--endpoint", "nonsense", "--model", "m"), 1, "invalid endpoint"),
    ],
)
def test_wrong_use_is_explained(environment: dict[str, str], flags: tuple[str, ...], code: int, says: str):
    done = piped("connect", *flags, **environment)
    assert (done.returncode, says in " ".join(done.stderr.decode().replace("│", " ").split())) == (code, True)
