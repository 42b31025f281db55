"""Names on NATS: every session id becomes one safe, unique token."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.nats import names

SUBJECTS = [names.events_subject, names.live_subject, names.do_subject, names.follow_subject, names.node_subject]


@pytest.mark.parametrize("name", ["a", "2f1c9a4e-5b7d-4c1e-9a52-0d6f3c2b1a00", "runner-1", "A_b"])
def test_plain_name_is_unchanged(name: str):
    assert names.events_subject(name) == f"handrail.events.{name}"
    assert names.bucket_subject(names.OWNERS, name) == f"$KV.handrail-owners.{name}"


@pytest.mark.parametrize("name", ["*", ">", "a.b", "a.*", " ", "a b", "\r\nPUB x 0\r\n", "\x00", "ü", "😀", "x" * 9999])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__name__)
def test_name_cannot_be_a_wildcard_or_break_a_protocol_line(subject: Callable[[str], str], name: str):
    assert re.fullmatch(r"handrail\.[a-z]+\.[A-Za-z0-9_=-]{1,150}", subject(name))


@given(st.text(max_size=10), st.text(max_size=10))
def test_tokens_are_unique_and_reversible(one: str, other: str):
    assert (names.token(one) == names.token(other)) == (one == other)
    assert names.session_of(names.events_subject(one)) == one
    assert names.session_of(names.bucket_subject(names.SESSIONS, other)) == other


@given(st.text())
def test_every_command_has_a_distinct_receipt_subject(command: str):
    assert re.fullmatch(r"handrail\.receipts\.[0-9a-f]{32}", names.receipt_subject(command))
    assert names.receipt_subject(command) != names.receipt_subject(f"{command}x")


def test_unpaired_surrogates_are_accepted():
    assert names.token("\ud800") != names.token("\udfff")


def test_kinds_of_subjects_are_disjoint():
    kinds = [subject("x").split(".")[1] for subject in SUBJECTS] + ["receipts"]
    assert len(set(kinds)) == len(kinds)
    assert names.ALL_NODES.split(".")[1] not in kinds
