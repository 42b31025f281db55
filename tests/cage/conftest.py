from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cage.caged import Cage, witness_process


@pytest.fixture
def cage(tmp_path: Path) -> Iterator[Cage]:
    with witness_process() as witness:
        try:
            yield Cage(tmp_path, witness.pid)
            assert witness.poll() is None, "a signal left the cage"
        finally:
            assert witness.stdin is not None
            witness.stdin.close()
