"""Folder lists merged from several machines."""

from __future__ import annotations

import pytest

from handrail.bridge.commands.workspace import MOST, merged_folders
from handrail.bridge.errors import CommandRefused


def test_roots_are_merged_without_duplicates():
    found = merged_folders([{"folders": ["/b", "/a"]}, None, {"folders": ["/a", "/c"]}])
    assert found == {"folders": ["/b", "/a", "/c"]}


def test_entries_are_sorted_and_incomplete_if_any_list_is():
    one = {"below": "/a", "folders": ["/a/z"], "complete": True}
    other = {"below": "/a", "folders": ["/a/b", "/a/z"], "complete": False}
    assert merged_folders([one, other]) == {"below": "/a", "folders": ["/a/b", "/a/z"], "complete": False}


def test_merged_list_is_limited():
    many = [{"below": "/", "folders": [f"/{n}/{k:04}" for k in range(MOST)], "complete": True} for n in (1, 2)]
    found = merged_folders(many)
    assert (len(found["folders"]), found["complete"]) == (MOST, False)


def test_folder_missing_on_every_machine_is_refused():
    with pytest.raises(CommandRefused, match="no machine has"):
        merged_folders([None, None])
