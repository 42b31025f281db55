"""The real CLI agrees with every check of `handrail conform`."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.conform.battery import chosen
from tests.conform.agents import drifts

TOPICS = sorted({check.name.partition(".")[0] for check in chosen()})


@pytest.mark.parametrize("topic", TOPICS)
async def test_the_real_cli_agrees_with_every_check(cli: Path, topic: str):
    assert await drifts([str(cli)], topic) == {}
