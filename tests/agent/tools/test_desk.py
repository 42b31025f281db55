"""The desk of a thread, of a call and of a subagent."""

from __future__ import annotations

from handrail.agent.tools.desk import Desk, Seen


def test_subagent_desk_is_empty_but_keeps_the_limits():
    desk = Desk("/w", may_read=lambda resolved: resolved.asked != "/w/secret", sandbox={"enabled": True})
    desk.seen["/w/a"] = Seen(1, 1)
    desk.state.todos = [{"content": "mine"}]
    own = desk.for_subagent("a1")
    assert (own.seen, own.state.todos, own.sandbox) == ({}, [], {"enabled": True})
    assert [own.may_read(own.resolve(path)) for path in ("/w/a", "/w/secret")] == [True, False]


def test_calls_share_seen_files_and_the_folder_is_taken_over():
    desk = Desk("/w")
    call = desk.for_call("1")
    call.seen["/w/a"] = Seen(1, 1)
    call.cwd = "/w/sub"
    desk.take_over(call)
    assert (desk.cwd, desk.call_id, list(desk.seen)) == ("/w/sub", "", ["/w/a"])
