"""What a tool works with, and what a subagent's tools work with."""

from __future__ import annotations

from handrail.agent.desk import Desk, Seen


def test_a_subagent_has_seen_nothing_but_the_same_limits_hold():
    desk = Desk("/w", may_read=lambda path: path != "/w/secret")
    desk.seen["/w/a"] = Seen(1, 1)
    desk.notes |= {"sandbox": {"enabled": True}, "todos": ["mine"]}
    own = desk.for_subagent()
    assert (own.seen, own.notes) == ({}, {"sandbox": {"enabled": True}})
    assert [own.may_read(path) for path in ("/w/a", "/w/secret")] == [True, False]


def test_calls_share_what_was_seen_and_the_folder_is_taken_over():
    desk = Desk("/w")
    call = desk.for_call("1")
    call.seen["/w/a"] = Seen(1, 1)
    call.cwd = "/w/sub"
    desk.take_over(call)
    assert (desk.cwd, desk.call_id, list(desk.seen)) == ("/w/sub", "", ["/w/a"])
