"""The environment of the CLI process, without the secrets of this one.

Inherited are the variables that programs commonly need (paths, locale), proxies and CA files, and those of the CLI.
`inherit_env=True` inherits everything; `env=` adds variables and takes precedence.
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
"""`DISABLE_` for DISABLE_TELEMETRY and similar: features the user disabled must stay disabled."""
DROPPED = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"})
"""Set by a CLI for its children; a CLI started by a CLI must not take itself for one."""


def child_environment(options: Options, ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the child; `ours` is the environment of this process (default: os.environ)."""
    source = os.environ if ours is None else ours
    found = {
        name: value
        for name, value in source.items()
        if name not in DROPPED and (options.inherit_env or name in KEPT or name.startswith(KEPT_PREFIXES))
    }
    if options.cwd is not None:
        found["PWD"] = os.path.abspath(os.path.expanduser(options.cwd))
    return {**found, **environment_of(options), **options.env}
