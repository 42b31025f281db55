"""Settings files, what a folder's own files would run, and whether the folder is trusted. Synchronous code.

Names that few programs need are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from handrail.settings.files import Place, Problem, SettingsFile, cli_state_file, config_home, places, read_file
from handrail.settings.given_trust import host_trusts_folder
from handrail.settings.last_good import LastGood
from handrail.settings.load import Loaded, load, look
from handrail.settings.merge import HookEntry, McpServer, Settings, merge
from handrail.settings.project import Contents, Item, collect
from handrail.settings.restrictions import Restrictions, restrictions_of
from handrail.settings.trust import Accepted, Change, Standing, TrustError, accept, revoke, standing_of

if TYPE_CHECKING:
    from handrail.settings.command_text import plain_prompt
    from handrail.settings.trust_notice import left_out, notice_of
    from handrail.settings.write import WriteRefused, write_update

_LATER = {
    "left_out": "trust_notice",
    "notice_of": "trust_notice",
    "plain_prompt": "command_text",
    "WriteRefused": "write",
    "write_update": "write",
}

__all__ = [
    "Accepted",
    "Change",
    "Contents",
    "HookEntry",
    "Item",
    "LastGood",
    "Loaded",
    "McpServer",
    "Place",
    "Problem",
    "Restrictions",
    "Settings",
    "SettingsFile",
    "Standing",
    "TrustError",
    "WriteRefused",
    "accept",
    "cli_state_file",
    "collect",
    "config_home",
    "host_trusts_folder",
    "left_out",
    "load",
    "look",
    "merge",
    "notice_of",
    "places",
    "plain_prompt",
    "read_file",
    "restrictions_of",
    "revoke",
    "standing_of",
    "write_update",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
