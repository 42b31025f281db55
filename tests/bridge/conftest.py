"""Where the tests of the bridge are run. In: pytest. Out: each on one server, and where it says so on many too.

A module that has `pytestmark = ANYWHERE` is run twice. A test of it that is about one server alone, its store or its
restart, says `@pytest.mark.one_server`.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.bridge.stage import Where


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "anywhere" in metafunc.fixturenames:
        alone = metafunc.definition.get_closest_marker("one_server") is not None
        metafunc.parametrize("anywhere", ["alone"] if alone else ["alone", "cluster"], indirect=True)


@pytest.fixture
def anywhere(request: pytest.FixtureRequest) -> Generator[None]:
    Where.cluster = request.param == "cluster"
    yield
    Where.cluster = False
