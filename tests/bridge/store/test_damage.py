"""A store is looked at before it is opened: what is damaged is kept beside, and what is lost is told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from handrail.bridge.store.damage import damage_of, look_at_store, mark_closed, mark_open


def make_store(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE a (b)")
    db.close()


def test_a_good_store_and_none_at_all_have_nothing_to_tell(tmp_path: Path):
    path = tmp_path / "handrail.db"
    assert look_at_store(path) == ""
    make_store(path)
    assert (look_at_store(path), damage_of(path)) == ("", "")


def test_a_damaged_one_is_kept_beside_with_its_log(tmp_path: Path):
    path = tmp_path / "handrail.db"
    path.write_bytes(b"no database " * 400)
    path.with_name("handrail.db-wal").write_bytes(b"log")
    assert "is damaged" in look_at_store(path)
    kept = sorted(one.name.partition(".corrupt-")[2][15:] for one in tmp_path.iterdir())
    assert kept == ["", "-wal"]


def test_a_log_that_is_gone_is_told_only_where_the_server_was_cut_off(tmp_path: Path):
    path = tmp_path / "handrail.db"
    make_store(path)
    mark_open(path)
    assert "what was written last is lost" in look_at_store(path)
    assert look_at_store(path) == "", "it is told once"
    mark_open(path)
    mark_closed(path)
    assert look_at_store(path) == ""
