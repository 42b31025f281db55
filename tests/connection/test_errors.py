"""The errors of a connection."""

from __future__ import annotations

import pytest

from handrail.connection import ControlError, ControlRefused, ControlTimeout, Disconnected, NotSupported
from handrail.errors import HandrailError
from handrail.transport.base import Ending


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Disconnected(Ending()), "the other side has ended (ended)"),
        (Disconnected(Ending(code=2), "initialize"), "initialize: the other side has ended (exit code 2)"),
        (
            Disconnected(Ending(signal="SIGKILL", stderr="oom")),
            "the other side has ended (killed by SIGKILL); the last lines of its stderr:\noom",
        ),
        (ControlRefused("set_model", "no"), "set_model: no"),
        (ControlRefused("set_model", "no", "why"), "set_model: no [why]"),
        (ControlTimeout("set_model", 60.0), "set_model: no answer within 60 s; pass timeout= to wait longer"),
        (NotSupported("set_model"), "set_model: this transport cannot answer control requests"),
    ],
)
def test_error_messages(error: HandrailError, text: str):
    assert str(error) == text


@pytest.mark.parametrize("kind", [ControlRefused, ControlTimeout, NotSupported])
def test_failed_requests_are_control_errors(kind: type[HandrailError]):
    assert issubclass(kind, ControlError)
    assert issubclass(kind, HandrailError)
