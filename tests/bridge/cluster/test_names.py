"""What everything is called on NATS: one word for a session, whatever it is called."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster import names

SUBJECTS = [names.events_subject, names.live_subject, names.do_subject, names.follow_subject, names.node_subject]


@pytest.mark.parametrize("name", ["a", "2f1c9a4e-5b7d-4c1e-9a52-0d6f3c2b1a00", "runner-1", "A_b"])
def test_a_plain_name_is_itself(name: str):
    assert names.events_subject(name) == f"handrail.events.{name}"
    assert names.bucket_subject(names.OWNERS, name) == f"$KV.handrail-owners.{name}"


@pytest.mark.parametrize("name", ["*", ">", "a.b", "a.*", " ", "a b", "\r\nPUB x 0\r\n", "\x00", "ü", "😀", "x" * 9999])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__name__)
def test_no_name_means_several_or_another_or_breaks_a_line(subject: Callable[[str], str], name: str):
    assert re.fullmatch(r"handrail\.[a-z]+\.[A-Za-z0-9_=-]{1,150}", subject(name))


@given(st.text(max_size=10), st.text(max_size=10))
def test_two_names_are_never_called_the_same_and_each_can_be_told_from_its_subject(one: str, other: str):
    assert (names.token(one) == names.token(other)) == (one == other)
    assert names.session_of(names.events_subject(one)) == one
    assert names.session_of(names.bucket_subject(names.SESSIONS, other)) == other


@given(st.text())
def test_any_command_has_a_receipt_of_its_own(command: str):
    assert re.fullmatch(r"handrail\.receipts\.[0-9a-f]{32}", names.receipt_subject(command))
    assert names.receipt_subject(command) != names.receipt_subject(f"{command}x")


def test_a_name_that_is_no_text_is_no_error():
    assert names.token("\ud800") != names.token("\udfff")


def test_no_subject_of_one_kind_is_one_of_another_kind():
    kinds = [subject("x").split(".")[1] for subject in SUBJECTS] + ["receipts"]
    assert len(set(kinds)) == len(kinds)
    assert names.ALL_NODES.split(".")[1] not in kinds
