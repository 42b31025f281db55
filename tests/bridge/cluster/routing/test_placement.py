"""Placement of sessions by folder, labels and capacity, and the reason if no machine fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.routing.placement import place, why_no_machine

GIB = 2**30


def node(name: str, *roots: str, **fields: Any) -> Node:
    return Node(name=name, boot="1", roots=list(roots) or ["/work"], **{"free_memory": 8 * GIB, **fields})


def names(nodes: list[Node]) -> list[str]:
    return [one.name for one in nodes]


@pytest.mark.parametrize(
    ("root", "cwd", "has_it"),
    [
        ("/home/a", "/home/a", True),
        ("/home/a", "/home/a/b/c", True),
        ("/home/a/", "/home/a/b", True),
        ("/home/a", "/home/a/", True),
        ("/", "/anything", True),
        ("/home/a", "/home/ann", False),
        ("/home/a", "/home", False),
        ("/home/a", "/home/a/../ann", False),
        ("/home/a", "/home/b/../a/c", True),
        ("/home/a", "home/a", False),
        ("/home/a", "", False),
    ],
)
def test_folder_matches_root_by_path_components(root: str, cwd: str, has_it: bool):
    assert bool(place([node("one", root)], cwd=cwd)) is has_it


def test_machine_that_runs_no_sessions_is_excluded():
    assert names(place([node("page", runs=False), node("worker")], cwd="/work")) == ["worker"]


def test_all_labels_are_required():
    nodes = [node("plain"), node("gpu", labels=["gpu"]), node("both", labels=["gpu", "big"])]
    assert names(place(nodes, cwd="/work", labels=["big", "gpu"])) == ["both"]
    assert len(place(nodes, cwd="/work")) == 3


def test_full_machine_is_excluded():
    full = node("full", sessions=4, most_sessions=4)
    small = node("small", free_memory=GIB, least_memory=2 * GIB)
    assert names(place([full, small, node("free", sessions=4, most_sessions=5)], cwd="/work")) == ["free"]


def test_last_machine_is_preferred_unless_full():
    nodes = [node("empty"), node("last", sessions=9, most_sessions=10)]
    assert names(place(nodes, cwd="/work", last="last")) == ["last", "empty"]
    full = node("last", sessions=10, most_sessions=10)
    assert names(place([nodes[0], full], cwd="/work", last="last")) == ["empty"]


def test_least_loaded_machine_is_preferred():
    nodes = [
        node("half", sessions=5, most_sessions=10),
        node("tenth", sessions=10, most_sessions=100, free_memory=64 * GIB),
        node("empty"),
        node("tight", sessions=1, free_memory=GIB // 10),
    ]
    assert names(place(nodes, cwd="/work")) == ["empty", "tenth", "half", "tight"]


def test_ties_are_broken_by_memory_and_name():
    nodes = [node("b"), node("a"), node("c", free_memory=16 * GIB)]
    assert names(place(nodes, cwd="/work")) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("nodes", "labels", "why"),
    [
        ([], [], "no machine runs sessions; start one with `handrail runner`"),
        ([node("page", runs=False)], [], "no machine runs sessions; start one with `handrail runner`"),
        ([node("w", "/a", "/b")], [], "no machine has /work: w has /a, /b"),
        ([node("w", "/a"), node("v", "/c")], [], "no machine has /work: v has /c; w has /a"),
        ([Node(name="w", boot="1")], [], "no machine has /work: w shares no folder"),
        ([node("w")], ["gpu"], "no machine has the label gpu"),
        ([node("w")], ["gpu", "big"], "no machine has the labels big and gpu"),
        (
            [node("w"), node("v", "/c", labels=["gpu"])],
            ["gpu"],
            "no machine with the label gpu has /work: v has /c",
        ),
        (
            [node("w", sessions=4, most_sessions=4), node("v", "/c")],
            [],
            "the only machine that has /work is full: w has 4 of 4 sessions",
        ),
        (
            [node("w", sessions=4, most_sessions=4), node("v", free_memory=GIB, least_memory=2 * GIB)],
            [],
            "every machine that has /work is full: v has 1024 MiB of memory left and needs 2048; w has 4 of 4 sessions",
        ),
        ([node("w")], [], ""),
    ],
)
def test_reason_if_no_machine_fits(nodes: list[Node], labels: list[str], why: str):
    assert why_no_machine(nodes, cwd="/work", labels=labels) == why


def test_long_list_of_machines_is_truncated():
    nodes = [node(f"w{n}", *(f"/{m}" for m in range(9))) for n in range(9)]
    why = why_no_machine(nodes, cwd="/work")
    assert why.startswith("no machine has /work: w0 has /0, /1, /2, /3, /4 and 4 more; w1 has")
    assert why.endswith("and 4 more")
    assert "w5" not in why


some_nodes = st.lists(
    st.builds(
        Node,
        name=st.sampled_from("abcdef"),
        boot=st.just("1"),
        runs=st.booleans(),
        roots=st.lists(st.sampled_from(["/", "/work", "/work/a", "/home"]), max_size=2),
        labels=st.lists(st.sampled_from(["gpu", "big"]), max_size=2),
        sessions=st.integers(0, 5),
        most_sessions=st.integers(0, 4),
        free_memory=st.integers(0, 4).map(lambda n: n * GIB),
        least_memory=st.integers(0, 2).map(lambda n: n * GIB),
    ),
    max_size=6,
)


@given(
    nodes=some_nodes,
    cwd=st.sampled_from(["/work/a/b", "/workshop", "/home", "", "x"]),
    labels=st.lists(st.sampled_from(["gpu", "big"]), max_size=2),
)
def test_result_is_either_a_machine_or_a_reason(nodes: list[Node], cwd: str, labels: list[str]):
    assert bool(place(nodes, cwd=cwd, labels=labels)) == (why_no_machine(nodes, cwd=cwd, labels=labels) == "")
