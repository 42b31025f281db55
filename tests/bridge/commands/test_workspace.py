"""Folders of several machines, as if they were one."""

from __future__ import annotations

import pytest

from handrail.bridge.commands.workspace import MOST, merged_folders
from handrail.bridge.errors import CommandRefused


def test_roots_of_all_are_told_once_each_in_the_order_of_the_machines():
    found = merged_folders([{"folders": ["/b", "/a"]}, None, {"folders": ["/a", "/c"]}])
    assert found == {"folders": ["/b", "/a", "/c"]}


def test_what_is_in_a_folder_is_sorted_and_complete_where_all_are():
    one = {"below": "/a", "folders": ["/a/z"], "complete": True}
    other = {"below": "/a", "folders": ["/a/b", "/a/z"], "complete": False}
    assert merged_folders([one, other]) == {"below": "/a", "folders": ["/a/b", "/a/z"], "complete": False}


def test_no_more_are_told_than_one_machine_would_tell():
    many = [{"below": "/", "folders": [f"/{n}/{k:04}" for k in range(MOST)], "complete": True} for n in (1, 2)]
    found = merged_folders(many)
    assert (len(found["folders"]), found["complete"]) == (MOST, False)


def test_a_folder_that_nobody_has_is_refused():
    with pytest.raises(CommandRefused, match="no machine has"):
        merged_folders([None, None])
