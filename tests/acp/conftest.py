"""The ways between a test and a session: through which client side, and where the session runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.acp.editor import MESSAGES

FOLDER = Path(__file__).parents[1] / "interop" / "acp"
SDK = Path(os.environ.get("HANDRAIL_ACP_SDK", "sdk/dist/v1/unstable/acp.js"))
SCHEMA = SDK.parents[3] / "schema" / "v1" / "schema.unstable.json"
CHECKED = [sys.executable, str(FOLDER / "checked_agent.py"), str(SCHEMA), f"../{MESSAGES}"]
CLIENT_SIDES = {
    "python": [os.environ.get("HANDRAIL_PYTHON_SDK", ""), str(FOLDER / "python_editor.py"), *CHECKED],
    "typescript": ["node", str(FOLDER / "typescript_editor.mjs"), str(SDK), *CHECKED],
}
"""The client sides of the official SDKs, which `make interop` puts between the tests and `handrail acp`. Behind them,
every message of `handrail acp` is validated against the schema of the package."""


@pytest.fixture(params=["directly", *(pytest.param(name, marks=pytest.mark.interop) for name in CLIENT_SIDES)])
def client_side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test directly and through each official SDK."""
    monkeypatch.setenv("HANDRAIL_TEST_EDITOR", shlex.join(CLIENT_SIDES.get(request.param, [])))
    return request.param


@pytest.fixture(
    params=[
        ("own", "directly"),
        ("server", "directly"),
        *(
            pytest.param(way, marks=pytest.mark.interop)
            for way in [("own", "python"), ("own", "typescript"), ("server", "python"), ("socket", "typescript")]
        ),
    ],
    ids="-".join,
)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test with sessions of `handrail acp` itself, with those of a server, and on the socket of a server.

    Returns where the session runs.
    """
    behind, client = request.param
    monkeypatch.setenv("HANDRAIL_TEST_BEHIND", behind)
    monkeypatch.setenv("HANDRAIL_TEST_EDITOR", shlex.join(CLIENT_SIDES.get(client, [])))
    return behind
