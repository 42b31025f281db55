"""The child's environment: what it needs, and no secret of ours. In: our environment, Options. Out: the child's.

Kept: what a program needs to find its files and speak the user's language, proxies and CA files, and the CLI's own
variables. `inherit_env=True` keeps everything else too; `env=` adds and wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.client.command_line import environment_of
from handrail.client.options import Options

__all__ = ["child_environment"]

KEPT = frozenset(
    "HOME PATH LANG TERM SHELL TMPDIR USER LOGNAME TZ COLORTERM IS_SANDBOX"
    " HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy"
    " SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"
    " XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR"
    " SYSTEMROOT COMSPEC PATHEXT APPDATA LOCALAPPDATA USERPROFILE TEMP TMP".split()
)
KEPT_PREFIXES = ("LC_", "ANTHROPIC_", "CLAUDE_", "DISABLE_")
"""`DISABLE_TELEMETRY` and its like: who has switched something off does not want it back on."""
DROPPED = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"})
"""A CLI started by a CLI must not believe that it is its own child."""


def child_environment(options: Options, ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """Choose what the child gets. In: the options, our environment (os.environ by default). Out: names and values."""
    source = os.environ if ours is None else ours
    found = {
        name: value
        for name, value in source.items()
        if name not in DROPPED and (options.inherit_env or name in KEPT or name.startswith(KEPT_PREFIXES))
    }
    if options.cwd is not None:
        found["PWD"] = os.path.abspath(os.path.expanduser(options.cwd))
    return {**found, **environment_of(options), **options.env}
