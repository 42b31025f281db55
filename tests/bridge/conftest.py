"""The `anywhere` fixture: runs a test on one server and again on a cluster.

Modules request it with `pytestmark = pytest.mark.usefixtures("anywhere")`. Tests that concern the store or the restart
of a single server opt out of the cluster run with `@pytest.mark.one_server`.
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
