"""Cases in which other SDKs lose messages or crash, with a scripted CLI."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import handrail
from handrail.client.inbox import Policy
from handrail.protocol import BadLine
from handrail.schema import content
from tests.client.scripted_session import scripted_session


async def test_line_of_20_megabytes_is_read(tmp_path: Path):
    script = """
        prompt()
        say(assistant("x" * 20_000_000))
        say(result())
    """
    async with scripted_session(tmp_path, script) as session:
        sizes = [len(message.text) async for message in await session.send("go") if message.type == "assistant"]
        assert sizes == [20_000_000]


async def test_line_over_the_limit_is_reported_and_the_session_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    script = """
        prompt()
        say(assistant("x" * 100_000))
        say(assistant("short"))
        say(result())
        prompt()
        say(result("and again"))
    """
    with caplog.at_level(logging.WARNING, "handrail"):
        async with scripted_session(tmp_path, script, max_buffer_size=10_000) as session:
            frames = session.frames()
            turn = await session.send("go")
            texts = [message.text async for message in turn if message.type == "assistant"]
            assert (texts, turn.result.text) == (["short"], "done")
            assert (await session.ask("more")).text == "and again"
    bad = [frame async for direction, frame in frames if isinstance(frame, BadLine)]
    assert [(len(frame.raw), frame.size > 100_000) for frame in bad] == [(10_000, True)]
    assert "more than the limit of 10000" in caplog.text


BLOCKS: dict[str, tuple[type[content.Block], str]] = {
    "redacted_thinking": (content.RedactedThinkingBlock, '{"type":"redacted_thinking","data":"c2VjcmV0"}'),
    "image": (
        content.ImageBlock,
        '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0="},"new":1}',
    ),
    "document": (
        content.DocumentBlock,
        '{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}',
    ),
    "server_tool_use": (
        content.ServerToolUseBlock,
        '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}',
    ),
    "web_search_tool_result": (
        content.WebSearchToolResultBlock,
        '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result"}]}',
    ),
    "mcp_tool_use": (
        content.McpToolUseBlock,
        '{"type":"mcp_tool_use","id":"mcptoolu_1","name":"t","server_name":"s","input":{}}',
    ),
    "thinking without signature": (content.ThinkingBlock, '{"type":"thinking","thinking":"hm"}'),
    "a block of tomorrow": (content.UnknownBlock, '{"type":"hologram", "light" : [1, 2.50, null]}'),
    "a text block without text": (content.UnknownBlock, '{"type":"text"}'),
}


async def test_every_content_block_is_kept_with_its_bytes(tmp_path: Path):
    line = (
        '{"type":"assistant","message":{"id":"msg_1","role":"assistant","model":"m","content":['
        + ",".join(raw for _, raw in BLOCKS.values())
        + ']},"parent_tool_use_id":null,"session_id":"s","uuid":"a"}'
    )
    script = f"""
        prompt()
        say_raw({line!r})
        say(result())
    """
    async with scripted_session(tmp_path, script) as session:
        (message,) = [message async for message in await session.send("go") if message.type == "assistant"]
    assert [(type(block), block.raw.decode()) for block in message.content] == list(BLOCKS.values())
    assert message.raw.decode() == line


async def test_unknown_messages_reach_the_reader_unchanged(tmp_path: Path):
    lines = [
        '{"type":"hologram","light":[1,2.50],"uuid":"h"}',
        '{"type":"system","subtype":"of_tomorrow","x":{"y":null}}',
        '{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","elapsed_time_seconds":3}',
        '{"type":"auth_status","isAuthenticating":true,"output":[]}',
        '{"type":"prompt_suggestion","suggestion":"go on"}',
        '{"type":"active_goal","value":null}',
        '{"no_type":"at all"}',
        '{"type":"assistant","message":"of an impossible shape"}',
    ]
    script = f"""
        prompt()
        say_raw(*{lines!r})
        say(result())
    """
    async with scripted_session(tmp_path, script) as session:
        seen = [message.raw.decode() async for message in await session.send("go")]
    assert [raw for raw in seen if raw in lines] == lines


async def test_large_system_prompt_is_sent_in_the_handshake(tmp_path: Path):
    script = """
        prompt()
        say(result([len(handshake["systemPrompt"][0]), max(map(len, sys.argv)) < 1000]))
    """
    async with scripted_session(tmp_path, script, system_prompt="x" * 1_000_000) as session:
        assert json.loads((await session.ask("go")).text) == [1_000_000, True]


async def test_readers_of_different_speed_see_the_same_messages(tmp_path: Path):
    script = """
        prompt()
        say(*[partial(str(number)) for number in range(1000)])
        say(result())
    """
    async with scripted_session(tmp_path, script) as session:
        fast, slow = session.messages(), session.messages()
        turn = await session.send("go")
        seen: list[bytes] = []
        async for message in fast:
            seen.append(message.raw)
            if message.type == "result":
                break
        assert turn.done
        assert [(await anext(slow)).raw for _ in seen] == seen
        assert [message.raw async for message in turn] == seen


@pytest.mark.parametrize("policy", ["spill", "drop_partials", "fail"])
async def test_slow_reader_gets_its_policy(tmp_path: Path, policy: Policy):
    script = """
        prompt()
        for number in range(2000):
            say(partial(str(number)))
        say(assistant("whole"))
        say(result())
    """
    async with scripted_session(tmp_path, script) as session:
        reader = session.messages(limit=50_000, policy=policy)
        await session.ask("go")
    read: list[handrail.MessageView] = []
    error: BaseException | None = None
    try:
        async for message in reader:
            read.append(message)
    except handrail.InboxFull as full:
        error = full
    partials = [message.text for message in read if isinstance(message, handrail.StreamEvent)]
    assert partials == [str(number) for number in range(len(partials))]
    match policy:
        case "spill":
            assert (len(partials), reader.dropped, read[-1].type, error) == (2000, 0, "result", None)
        case "drop_partials":
            assert 0 < len(partials) < 2000
            assert len(partials) + reader.dropped == 2000
            assert ([message.type for message in read[-2:]], error) == (["assistant", "result"], None)
        case "fail":
            assert 0 < len(partials) < 2000
            assert isinstance(error, handrail.InboxFull)
