"""The names of the package."""

from __future__ import annotations

import pytest

from handrail import settings


@pytest.mark.parametrize("name", settings.__all__)
def test_every_public_name_is_there(name: str):
    assert getattr(settings, name).__name__ == name


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        settings.nothing  # noqa: B018
