"""The player: choosing replies, and turning them into events."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handrail.agent.models.player import USAGE, PlayedReply, Player, Step
from handrail.agent.models.script import (
    Cut,
    Hang,
    Ping,
    Reply,
    Script,
    Text,
    ToolUse,
    Wait,
    When,
    cut,
    hang,
    http_error,
    raw_tool_use,
    redacted_thinking,
    reply,
    stream_error,
    text,
    thinking,
    tool_use,
    wait,
)

TOOLS = [{"name": "Bash"}]


def ask(prompt: str = "hi", **extra: Any) -> dict[str, Any]:
    return {"model": "m", "tools": TOOLS, "messages": [{"role": "user", "content": prompt}], **extra}


def said(player: Player, request: dict[str, Any]) -> str:
    first = player.reply_to(request).reply.blocks[0]
    assert isinstance(first, Text)
    return first.text


def played(given_reply: Reply) -> PlayedReply:
    return PlayedReply(given_reply, model="m", id="x_0001")


def kinds(steps: list[Step]) -> list[object]:
    return [step["type"] if isinstance(step, dict) else step for step in steps]


def deltas(given_reply: Reply) -> list[dict[str, Any]]:
    return [
        step["delta"]
        for step in played(given_reply).stream()
        if isinstance(step, dict) and "index" in step and "delta" in step
    ]


def test_replies_are_given_in_order_and_then_afterwards():
    player = Player(Script.of(text("one"), reply(text("two"), times=2), afterwards=reply(text("end"))))
    assert [said(player, ask()) for _ in range(5)] == ["one", "two", "two", "end", "end"]


def test_request_without_tools_gets_the_helper():
    player = Player(Script.of(text("one"), helper=reply(text("title"))))
    side = ask(tools=[])
    assert [said(player, side), said(player, ask()), said(player, side)] == ["title", "one", "title"]
    assert (player.is_main(side), player.is_main(ask())) == (False, True)


def test_every_request_is_main_without_a_helper():
    player = Player(Script((Reply((Text("one"),)),), helper=None))
    assert player.is_main(ask(tools=[]))
    assert said(player, ask(tools=[])) == "one"


def test_conditional_reply_does_not_consume_the_order():
    player = Player(Script.of(text("one"), reply(text("Rain."), when=When(prompt="weather")), text("two")))
    prompts = ["the weather?", "hi", "weather again", "hi"]
    assert [said(player, ask(prompt)) for prompt in prompts] == ["Rain.", "one", "Rain.", "two"]


def test_conditional_reply_is_used_up_after_times():
    when = When(prompt="x")
    player = Player(Script.of(reply(text("a"), when=when, times=1), reply(text("b"), when=when, times=1), text("c")))
    assert [said(player, ask("x")) for _ in range(3)] == ["a", "b", "c"]


def fits(when: When, request: dict[str, Any]) -> bool:
    return (
        said(Player(Script.of(reply(text("yes"), when=when), text("no"), helper=reply(text("no")))), request) == "yes"
    )


def test_when_matches_the_model_and_the_system_prompt():
    assert fits(When(model="m"), ask())
    assert not fits(When(model="m"), ask(model="m2"))
    assert fits(When(system="agent"), ask(system="You are an agent."))
    assert fits(When(system="agent"), ask(system=[{"type": "text", "text": "an agent"}]))
    assert not fits(When(system="agent"), ask())


def test_when_skips_side_calls_unless_tools_is_false():
    assert not fits(When(prompt="hi"), ask(tools=[]))
    assert fits(When(prompt="hi", tools=False), ask(tools=[]))
    assert not fits(When(tools=False), ask())
    assert fits(When(tools=True), ask())


def test_when_distinguishes_prompts_from_tool_results_and_old_from_new():
    request = ask(
        messages=[
            {"role": "user", "content": "list files"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a.txt"}]},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "b.txt"}]}]},
            {"role": "system", "content": "list files is a command"},
        ]
    )
    assert not fits(When(prompt="list files"), request)
    assert fits(When(tool_result="a.txt"), request)
    assert fits(When(tool_result="b.txt"), request)
    assert not fits(When(tool_result="list files"), request)


def test_when_tolerates_malformed_messages():
    for messages in (None, "x", [None, 1, {"role": "user", "content": 7}, {"role": "user", "content": [None, "x"]}]):
        assert not fits(When(prompt="hi"), ask(messages=messages))
        assert not fits(When(tool_result="hi"), ask(messages=messages))


def test_text_streams_word_by_word():
    message = {
        "id": "msg_x_0001",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**USAGE, "output_tokens": 1},
    }
    assert list(played(reply(text("Hello there."))).stream()) == [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "there."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
    ]


def test_reply_as_one_message():
    blocks = thinking("Hm."), redacted_thinking("AA"), tool_use("Bash", command="ls"), raw_tool_use("Bash", "{")
    (message,) = played(reply(*blocks, usage={"output_tokens": 7})).whole()
    assert isinstance(message, dict)
    assert message["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl"},
        {"type": "redacted_thinking", "data": "AA"},
        {"type": "tool_use", "id": "toolu_x_0001_2", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "toolu_x_0001_3", "name": "Bash", "input": {}},
    ]
    assert (message["stop_reason"], message["usage"]) == ("tool_use", {**USAGE, "output_tokens": 7})


def test_thinking_ends_with_a_signature_and_redacted_thinking_has_no_deltas():
    assert deltas(reply(thinking("Let me"), redacted_thinking())) == [
        {"type": "thinking_delta", "thinking": "Let "},
        {"type": "thinking_delta", "thinking": "me"},
        {"type": "signature_delta", "signature": "c2lnbmF0dXJl"},
    ]


def test_tool_input_streams_as_json_pieces_and_raw_input_unchanged():
    pieces = deltas(reply(tool_use("Bash", command="echo a long command"), chunk=10))
    assert "".join(piece["partial_json"] for piece in pieces) == '{"command":"echo a long command"}'
    assert len(pieces) == 4
    assert deltas(reply(raw_tool_use("Bash", '{"comm'))) == [{"type": "input_json_delta", "partial_json": '{"comm'}]


def test_tool_use_keeps_its_id():
    (message,) = played(reply(ToolUse("Bash", id="toolu_mine"))).whole()
    assert isinstance(message, dict)
    assert message["content"][0]["id"] == "toolu_mine"


def test_delay_applies_between_deltas():
    steps = kinds(list(played(reply(text("abcd"), chunk=2, delay=0.5)).stream()))
    assert steps[2:5] == ["content_block_delta", Wait(0.5), "content_block_delta"]
    assert steps.count(Wait(0.5)) == 1


def test_leading_wait_delays_message_start():
    steps = kinds(list(played(reply(wait(1), hang(), Ping(), wait(2), text("a"))).stream()))
    assert steps[:5] == [Wait(1), Hang(), "message_start", "ping", Wait(2)]
    assert kinds(list(played(reply(wait(1), hang(), Ping(), text("a"))).whole())) == [Wait(1), Hang(), "message"]


def test_cut_ends_the_stream_and_unfinished_blocks_stay_open():
    assert kinds(list(played(reply(text("a"), cut(), text("never"))).stream()))[-2:] == ["content_block_stop", Cut()]
    unfinished = reply(text("a", unfinished=True), cut(broken=True))
    assert kinds(list(played(unfinished).stream()))[-2:] == ["content_block_delta", Cut(broken=True)]
    assert kinds(list(played(reply(cut())).stream())) == [Cut()]
    assert kinds(list(played(reply(text("a"), cut())).whole())) == [Cut()]


def test_error_event_ends_the_stream():
    error = {"type": "error", "error": {"type": "api_error", "message": "oops"}}
    failing = reply(text("a"), stream_error("api_error", "oops"), text("never"))
    assert list(played(failing).stream())[-1] == error
    assert list(played(failing).whole()) == [error]


def test_reply_without_content_is_an_empty_message():
    steps = kinds(list(played(reply(hang())).stream()))
    assert steps == [Hang(), "message_start", "message_delta", "message_stop"]


def test_ids_are_unique_and_contain_the_label():
    script = Script.of(http_error(500))
    ids = [player.reply_to(ask()).id for player in (Player(script, label="a"), Player(script, label="b"))]
    player = Player(script, label="a")
    assert [*ids, player.reply_to(ask()).id, player.reply_to(ask()).id] == ["a_0001", "b_0001", "a_0001", "a_0002"]


@given(st.text(), st.none() | st.integers(1, 5))
def test_deltas_join_to_the_text(content: str, chunk: int | None):
    assert "".join(delta["text"] for delta in deltas(reply(text(content), chunk=chunk))) == content
