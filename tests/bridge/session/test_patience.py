"""What a CLI said waits for a store that is full, and not for one that has failed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from handrail.bridge.errors import StoreFailed
from handrail.bridge.session import patience
from handrail.bridge.session.patience import until_kept


def failing(times: int, *, lasting: bool = False) -> tuple[list[int], object]:
    """Puts that fail so often, as a full disk does."""
    tried: list[int] = []

    async def put() -> None:
        tried.append(1)
        if len(tried) <= times:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"  # type: ignore[misc]
            raise StoreFailed(Path("x.db"), error, lasting=lasting)

    return tried, put


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSE", 0)


async def test_what_cannot_be_kept_now_is_tried_until_it_is():
    tried, put = failing(3)
    await until_kept(put, "s", lambda: False)  # type: ignore[arg-type]
    assert len(tried) == 4


@pytest.mark.parametrize(("lasting", "given_up"), [(True, False), (False, True)])
async def test_of_a_store_that_has_failed_or_a_session_that_ends_nothing_is_hoped(lasting: bool, given_up: bool):
    tried, put = failing(3, lasting=lasting)
    with pytest.raises(StoreFailed):
        await until_kept(put, "s", lambda: given_up)  # type: ignore[arg-type]
    assert len(tried) == 1


async def test_patience_has_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patience, "LONGEST", 0)
    tried, put = failing(3)
    with pytest.raises(StoreFailed):
        await until_kept(put, "s", lambda: False)  # type: ignore[arg-type]
    assert len(tried) == 1
