"""The model that a person connected: `claude`, or a key for a Messages API. It is stored in one file of the user.

The file is `$XDG_CONFIG_HOME/handrail/model.json`, by default below `~/.config`, with mode 0600. It is outside of the
server's data folder, so a copy of that folder contains no key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from handrail.errors import CallerError
from handrail.settings.private_file import PrivateFileError, forget, read_private, write_private

__all__ = ["InvalidAccess", "ModelAccess", "access_file", "forget_access", "load_access", "save_access"]

NO_KEY: Final = "none"
"""Sent to endpoints that need no key: the agent sends no request without one."""
_BLANK: Final = ("HANDRAIL_SCRIPT", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL")
"""Variables of this process that would choose another model or another account."""
MOST_BYTES: Final = 64 * 1024


class InvalidAccess(CallerError):
    """A key, an endpoint or a model name cannot be used, or the file that stores them."""


class ModelAccess(Struct, frozen=True, omit_defaults=True):
    """`use` is the CLI: "claude" with its own account, or "api", our agent with this key.

    An empty `endpoint` is that of ANTHROPIC_BASE_URL, else Anthropic's. An empty `model` is the agent's default.
    """

    use: Literal["claude", "api"]
    key: str = ""
    endpoint: str = ""
    model: str = ""

    def __repr__(self) -> str:  # logs and error reports contain no key
        return f"ModelAccess({self.use!r}, endpoint={self.endpoint!r}, model={self.model!r})"

    def environment(self) -> dict[str, str]:
        """The variables of the agent's process. Those of the server that contradict them are emptied."""
        if self.use == "claude":
            return {}
        given = dict.fromkeys(_BLANK, "") | {"ANTHROPIC_API_KEY": self.key or NO_KEY}
        if self.endpoint:
            # Endpoints differ in the header they read, so both are sent.
            given |= {"ANTHROPIC_BASE_URL": self.endpoint, "ANTHROPIC_AUTH_TOKEN": self.key or NO_KEY}
        return given | ({"HANDRAIL_MODEL": self.model} if self.model else {})

    def check(self) -> ModelAccess:
        """Return it without surrounding spaces. Raises InvalidAccess."""
        found = msgspec.structs.replace(
            self, key=self.key.strip(), endpoint=self.endpoint.strip().rstrip("/"), model=self.model.strip()
        )
        if found.use == "claude":
            return ModelAccess("claude")
        if not found.key and not found.endpoint:
            raise InvalidAccess("the API key is empty; paste the key, or name an endpoint that needs none")
        if not found.key.isascii() or not found.key.isprintable() or " " in found.key:
            raise InvalidAccess("the API key contains spaces or line breaks; copy it again")
        if found.endpoint:
            _check_endpoint(found.endpoint)
        if not found.model.isascii() or not found.model.isprintable():
            raise InvalidAccess(f"invalid model name {found.model!r}; use the name in the provider's documentation")
        if found.endpoint and not found.model:
            raise InvalidAccess("the model is empty; an endpoint needs the name of one of its models")
        return found


def _check_endpoint(endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        valid = valid and not (parts.query or parts.fragment or parts.username or parts.password)
    except ValueError:
        valid = False
    if not valid or re.search(r"[\x00-\x20\x7f]", endpoint):
        # It is not quoted: a URL may contain a password.
        raise InvalidAccess("invalid endpoint; give a URL such as https://models.example.com without user or query")


def access_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the file."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return Path(environment.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "handrail" / "model.json"


def load_access(environment: Mapping[str, str] = os.environ) -> ModelAccess | None:
    """The stored access; None without one. Raises InvalidAccess if others can read the file, or if it is broken."""
    path = access_file(environment)
    try:
        data = read_private(path, limit=MOST_BYTES, secret=True)
    except PrivateFileError as error:
        raise InvalidAccess(f"{error}; then connect the model again") from None
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=ModelAccess)
    except msgspec.MsgspecError:
        raise InvalidAccess(f"{path} is not valid; delete it and connect the model again") from None


def save_access(access: ModelAccess, environment: Mapping[str, str] = os.environ) -> Path:
    """Store it. Returns the path. Raises InvalidAccess."""
    path = access_file(environment)
    try:
        write_private(path, msgspec.json.encode(access))
    except PrivateFileError as error:
        raise InvalidAccess(str(error)) from None
    return path


def forget_access(environment: Mapping[str, str] = os.environ) -> bool:
    """Delete the file. Returns whether there was one. Raises InvalidAccess."""
    try:
        return forget(access_file(environment))
    except PrivateFileError as error:
        raise InvalidAccess(str(error)) from None


def shown(access: ModelAccess | None) -> dict[str, Any]:
    """What may be shown of it: everything but the key."""
    if access is None:
        return {}
    return {"use": access.use, "endpoint": access.endpoint, "model": access.model}
