"""The names of the package."""

from __future__ import annotations

import pytest

from handrail import settings


@pytest.mark.parametrize("name", settings.__all__)
def test_every_public_name_exists(name: str):
    assert getattr(settings, name).__name__ == name


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        settings.nothing  # noqa: B018
