"""The stored model: what is valid, and that its key appears nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.model_access.stored import (
    InvalidAccess,
    ModelAccess,
    access_file,
    forget_access,
    load_access,
    save_access,
    shown,
)

KEY = "sk-test-0123456789"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def test_access_is_stored_for_the_owner_only(environment: dict[str, str], tmp_path: Path):
    access = ModelAccess("api", KEY, "https://models.example.com", "m")
    path = save_access(access, environment)
    assert path == tmp_path / ".config" / "handrail" / "model.json"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert load_access(environment) == access
    assert (forget_access(environment), forget_access(environment), load_access(environment)) == (True, False, None)


def test_folder_of_xdg_is_used(tmp_path: Path):
    assert access_file({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/handrail/model.json")


def test_key_is_not_in_the_repr_and_not_shown():
    access = ModelAccess("api", KEY, "https://models.example.com", "m")
    assert KEY not in repr(access) + str(access) + f"{access}" + str(shown(access))
    assert shown(None) == {}


@pytest.mark.parametrize(
    ("access", "problem"),
    [
        (ModelAccess("api", "  "), "the API key is empty"),
        (ModelAccess("api", "two words"), "spaces or line breaks"),
        (ModelAccess("api", "schlüssel"), "spaces or line breaks"),
        (ModelAccess("api", KEY, "models.example.com", "m"), "invalid endpoint"),
        (ModelAccess("api", KEY, "https://user:word@models.example.com", "m"), "invalid endpoint"),
        (ModelAccess("api", KEY, "https://models.example.com?a=b", "m"), "invalid endpoint"),
        (ModelAccess("api", KEY, "https://[::1", "m"), "invalid endpoint"),
        (ModelAccess("api", KEY, "https://models.example.com"), "the model is empty"),
        (ModelAccess("api", KEY, "https://models.example.com", "a\nb"), "invalid model name"),
    ],
)
def test_invalid_access_is_refused_without_quoting_the_key(access: ModelAccess, problem: str):
    with pytest.raises(InvalidAccess, match=problem) as caught:
        access.check()
    assert KEY not in str(caught.value)


def test_surrounding_spaces_are_removed_and_an_endpoint_may_need_no_key():
    assert ModelAccess("api", f" {KEY}\n").check() == ModelAccess("api", KEY)
    local = ModelAccess("api", "", "http://127.0.0.1:8000/ ", " m ").check()
    assert local == ModelAccess("api", "", "http://127.0.0.1:8000", "m")
    assert local.environment()["ANTHROPIC_API_KEY"] == "none"
    assert ModelAccess("claude", KEY).check() == ModelAccess("claude")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"use": "other"}', b'{"use": "api", "key": 3}'])
def test_broken_file_is_reported(environment: dict[str, str], content: bytes):
    save_access(ModelAccess("claude"), environment).write_bytes(content)
    with pytest.raises(InvalidAccess, match="is not valid; delete it"):
        load_access(environment)


def test_folder_that_cannot_be_written_is_reported(environment: dict[str, str], tmp_path: Path):
    (tmp_path / ".config").write_text("a file")
    with pytest.raises(InvalidAccess, match="cannot write"):
        save_access(ModelAccess("claude"), environment)
    with pytest.raises(InvalidAccess, match="cannot remove"):
        forget_access(environment)
