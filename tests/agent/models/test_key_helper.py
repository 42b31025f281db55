"""handrail.agent.models.key_helper: the command that prints the API key."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.models.anthropic import AnthropicModel
from handrail.agent.models.api_access import ApiOptions
from handrail.agent.models.base import ModelError, ModelRequest
from handrail.agent.models.key_helper import KeyHelper
from tests.agent.models.raw_server import raw_server, response

COUNTING = "echo x >> count; echo key-$(wc -l < count | tr -d ' ')"


def helper(folder: Path, command: str, **environment: str) -> KeyHelper:
    return KeyHelper(command, environment={"PATH": "/usr/bin:/bin", **environment}, cwd=str(folder))


async def test_a_key_is_kept_until_it_is_forgotten(tmp_path: Path):
    keys = helper(tmp_path, COUNTING)
    assert [await keys.key(), await keys.key()] == ["key-1", "key-1"]
    keys.forget()
    assert await keys.key() == "key-2"


async def test_a_lifetime_of_zero_runs_the_command_each_time(tmp_path: Path):
    keys = helper(tmp_path, COUNTING, CLAUDE_CODE_API_KEY_HELPER_TTL_MS="0")
    assert [await keys.key(), await keys.key()] == ["key-1", "key-2"]


@pytest.mark.parametrize(
    ("command", "reason"),
    [("exit 3", "code 3"), ("true", "did not print a key"), ("printf 'a\\nb'", "did not print a key")],
)
async def test_a_command_without_a_key_is_an_error_that_is_not_retried(tmp_path: Path, command: str, reason: str):
    with pytest.raises(ModelError, match=reason) as error:
        await helper(tmp_path, command).key()
    assert error.value.status == 403


async def test_a_key_that_the_api_refuses_is_replaced_once_and_hidden(tmp_path: Path):
    body = b'{"error":{"type":"authentication_error","message":"bad key-1"}}'
    async with raw_server([response(body, status="401 Unauthorized")]) as server:
        options = ApiOptions(key_helper=helper(tmp_path, COUNTING))
        model = AnthropicModel({"ANTHROPIC_BASE_URL": server.url}, options)
        with pytest.raises(ModelError) as error:
            await model.whole(ModelRequest("m", [{"role": "user", "content": "hi"}]))
        await model.close()
    assert ["x-api-key: key-1" in server.heads[0], "x-api-key: key-2" in server.heads[1]] == [True, True]
    assert len(server.heads) == 2
    assert error.value.message == "bad ***"


async def test_a_refused_key_that_the_helper_repeats_is_not_sent_again(tmp_path: Path):
    async with raw_server([response(b"{}", status="401 Unauthorized")]) as server:
        model = AnthropicModel({"ANTHROPIC_BASE_URL": server.url}, ApiOptions(key_helper=helper(tmp_path, "echo same")))
        with pytest.raises(ModelError):
            await model.whole(ModelRequest("m", [{"role": "user", "content": "hi"}]))
        await model.close()
    assert len(server.heads) == 1
