"""The address of a running server and login links, as seen from another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.errors import BridgeError
from handrail.bridge.private_files import read_private, write_private
from handrail.bridge.store.database import Database
from handrail.bridge.store.ownership import DataFolder, holder
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.devices import Access
from handrail.bridge.web.running import new_link, remembered, running_address


async def test_link_made_by_another_process_works_once(tmp_path: Path):
    folder = DataFolder(tmp_path)
    database = Database(tmp_path / "handrail.db", TABLES)
    devices = Access(SqliteValues(database))
    with remembered(tmp_path, "http://127.0.0.1:1"):
        assert running_address(tmp_path) == "http://127.0.0.1:1"
        address, _, secret = (await new_link(tmp_path)).partition("/#link=")
        assert address == "http://127.0.0.1:1"
        assert await devices.open_link(secret, "test") is not None
        assert await devices.open_link(secret, "test") is None
        assert (tmp_path / "server.json").stat().st_mode & 0o777 == 0o600
    await database.close()
    folder.close()
    assert not (tmp_path / "server.json").exists()


async def test_no_link_is_made_without_a_server(tmp_path: Path):
    (tmp_path / "server.json").write_text('{"address":"http://127.0.0.1:1"}')
    assert (holder(tmp_path), running_address(tmp_path)) == ("", "")
    with pytest.raises(BridgeError, match="no server is running in"):
        await new_link(tmp_path)
    assert not (tmp_path / "handrail.db").exists()


def test_holder_of_a_folder_is_named(tmp_path: Path):
    folder = DataFolder(tmp_path)
    assert holder(tmp_path).startswith("process ")
    folder.close()
    assert holder(tmp_path) == ""


def test_secret_readable_by_other_users_is_refused_f40(tmp_path: Path):
    path = tmp_path / "ccpocket-token"
    assert read_private(path) == ""
    write_private(path, "secret")
    assert read_private(path) == "secret"
    path.chmod(0o644)
    with pytest.raises(BridgeError, match=r"other users can read .*ccpocket-token \(mode 0644\)"):
        read_private(path)
