"""Names of secret files that clients cannot open."""

from __future__ import annotations

import pytest

from handrail.bridge.commands.workspace import is_private


@pytest.mark.parametrize("path", [".ssh", "a/.ssh/id", ".SSH/x", ".npmrc", "deep/.aws/credentials"])
def test_keys_and_credentials_are_closed_in_any_folder(path: str):
    assert is_private(path)


@pytest.mark.parametrize("path", ["", "ssh", "a/b.txt", ".github/x", "aws"])
def test_other_names_are_open(path: str):
    assert not is_private(path)
