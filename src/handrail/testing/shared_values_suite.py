"""The conformance suite of the port `SharedValues`.

@pytest.mark.parametrize("check", SHARED_VALUES_CHECKS, ids=lambda check: check.__name__)
async def test_shared_values(check):
    await run_port_check(check, open_new)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from handrail.bridge.store.shared_values import SharedValues
from handrail.testing.port_check import expect

__all__ = ["SHARED_VALUES_CHECKS", "SharedValuesCheck"]

SharedValuesCheck = Callable[[SharedValues], Awaitable[None]]


async def a_created_value_can_be_read(values: SharedValues) -> None:
    expect(values.get("a.1") is None, "an unknown key has a value")
    for key in ("a.1", "a.2", "ab", "b/ü *>"):
        expect(await values.create(key, key.encode()), f"{key!r} was not created")
        expect(values.get(key) == key.encode(), f"{key!r}: {values.get(key)!r}")
    expect(values.below("a.") == {"a.1": b"a.1", "a.2": b"a.2"}, f"{values.below('a.')}")
    expect(len(values.below("")) == 4, f"{values.below('')}")


async def an_existing_value_is_not_created_again(values: SharedValues) -> None:
    expect(await values.create("a", b"1"), "the first call did not create the value")
    expect(not await values.create("a", b"2"), "the second call created the value too")
    expect(values.get("a") == b"1", f"the value was replaced: {values.get('a')!r}")


async def one_of_concurrent_creators_wins(values: SharedValues) -> None:
    created = await asyncio.gather(*(values.create("a", b"%d" % n) for n in range(10)))
    expect(sum(created) == 1, f"{sum(created)} calls created the value")
    expect(values.get("a") == b"%d" % created.index(True), f"another value is stored: {values.get('a')!r}")


async def a_value_is_taken_once(values: SharedValues) -> None:
    expect(await values.take("a") is None, "a missing value was taken")
    await values.create("a", b"1")
    taken = await asyncio.gather(*(values.take("a") for _ in range(10)))
    expect(sorted(filter(None, taken)) == [b"1"], f"{taken}")
    expect(values.get("a") is None, "the value can be read after it was taken")
    expect(values.below("") == {}, "the value is listed after it was taken")


async def a_taken_key_can_be_created_again(values: SharedValues) -> None:
    for value in (b"1", b"2", b"3"):
        expect(await values.create("a", value), f"{value!r} was not created")
        expect(values.get("a") == value, f"{values.get('a')!r} is stored")
        expect(await values.take("a") == value, f"{value!r} was not taken")


async def concurrent_updates_are_not_lost(values: SharedValues) -> None:
    def add_one(value: bytes) -> bytes:
        return b"%d" % (int(value) + 1)

    expect(await values.update("a", add_one) is None, "a missing value was updated")
    expect(values.get("a") is None, "the update created a value")
    await values.create("a", b"0")
    await asyncio.gather(*(values.update("a", add_one) for _ in range(10)))
    expect(values.get("a") == b"10", f"{values.get('a')!r} after 10 updates")
    expect(await values.update("a", add_one) == b"11", "the new value is not returned")


async def every_change_is_reported_once(values: SharedValues) -> None:
    changes: list[tuple[str, bytes | None]] = []
    values.on_change.append(lambda key, value: changes.append((key, value)))
    await values.create("a", b"1")
    await values.create("a", b"2")
    await values.update("a", lambda _: b"1")
    await values.update("a", lambda _: b"2")
    await values.create("b", b"3")
    await values.take("a")
    expected = [("a", b"1"), ("a", b"2"), ("b", b"3"), ("a", None)]
    expect(changes == expected, f"{changes}")


async def a_value_ends_after_its_time(values: SharedValues) -> None:
    expect(await values.create("a", b"1", seconds=1), "the value was not created")
    await values.create("b", b"1")
    await values.update("b", lambda _: b"2", seconds=1)
    await values.create("c", b"1")
    while values.below("").keys() != {"c"}:  # noqa: ASYNC110 - an implementation may report an end late or not at all
        await asyncio.sleep(0.05)
    expect(await values.take("a") is None, "a value that has ended was taken")
    expect(await values.create("b", b"3"), "a value that has ended blocks its key")


SHARED_VALUES_CHECKS: tuple[SharedValuesCheck, ...] = (
    a_created_value_can_be_read,
    an_existing_value_is_not_created_again,
    one_of_concurrent_creators_wins,
    a_value_is_taken_once,
    a_taken_key_can_be_created_again,
    concurrent_updates_are_not_lost,
    every_change_is_reported_once,
    a_value_ends_after_its_time,
)
