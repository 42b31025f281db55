"""A project folder and a config home for each test of the settings."""

from pathlib import Path

import pytest

from tests.settings.folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
