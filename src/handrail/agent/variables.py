"""The environment variables of the agent, one row each, and the variables of the CLI that it does not support.

`docs/guides/agent.md` lists these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from handrail.agent.errors import Refused

__all__ = ["VARIABLES", "Variable", "check_variables", "is_on"]


class Variable(Struct, frozen=True):
    """One variable. `text` is its meaning, or why it is refused or ignored."""

    name: str
    text: str
    state: Literal["works", "refused", "notice"] = "works"


_PROVIDER: Final = "only the Messages API is supported; set ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY"

VARIABLES: Final = (
    # The model and its API
    Variable("ANTHROPIC_API_KEY", "key of the Messages API"),
    Variable("ANTHROPIC_AUTH_TOKEN", "bearer token for the Messages API"),
    Variable("ANTHROPIC_BASE_URL", "address of the Messages API"),
    Variable("ANTHROPIC_BETAS", "beta features, separated by commas"),
    Variable("ANTHROPIC_CUSTOM_HEADERS", "more headers, one `Name: value` per line"),
    Variable("ANTHROPIC_MODEL", "model of sessions that name none"),
    Variable("ANTHROPIC_DEFAULT_FABLE_MODEL", "model of the alias fable"),
    Variable("ANTHROPIC_DEFAULT_HAIKU_MODEL", "model of the alias haiku"),
    Variable("ANTHROPIC_DEFAULT_OPUS_MODEL", "model of the alias opus"),
    Variable("ANTHROPIC_DEFAULT_SONNET_MODEL", "model of the alias sonnet"),
    Variable("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1: memory files of --add-dir folders are read"),
    Variable("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1: the notes of earlier sessions are not read"),
    Variable("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1: memory files such as CLAUDE.md are not read"),
    Variable("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1: nothing runs in the background"),
    Variable(
        "ENABLE_TOOL_SEARCH",
        "true: tools of servers are always deferred; false: never; `auto:N`: from N percent of the context window (10)",
    ),
    Variable("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "milliseconds that hooks of SessionEnd may take"),
    Variable("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "how often Stop hooks may keep a turn from ending (8); 0: any number"),
    Variable("HANDRAIL_CHILD", "set by the bridge, so that what it started can be found and ended"),
    Variable("API_TIMEOUT_MS", "milliseconds that a request may take"),
    Variable("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "milliseconds that a key of `apiKeyHelper` is kept"),
    Variable("CLAUDE_CODE_EFFORT_LEVEL", "effort level; comes before --effort"),
    Variable("CLAUDE_CODE_EXTRA_BODY", "JSON object with more fields for every request"),
    Variable("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "most tokens of one answer"),
    Variable("CLAUDE_CODE_MAX_RETRIES", "most retries of a request"),
    Variable("CLAUDE_CODE_SUBAGENT_MODEL", "model of subagents for which no other is named"),
    Variable("DISABLE_PROMPT_CACHING", "1: no cache marks"),
    Variable("DISABLE_PROMPT_CACHING_FABLE", "1: no cache marks for models of this family"),
    Variable("DISABLE_PROMPT_CACHING_HAIKU", "1: no cache marks for models of this family"),
    Variable("DISABLE_PROMPT_CACHING_OPUS", "1: no cache marks for models of this family"),
    Variable("DISABLE_PROMPT_CACHING_SONNET", "1: no cache marks for models of this family"),
    Variable("MAX_THINKING_TOKENS", "budget for thoughts; 0 turns them off"),
    Variable("HANDRAIL_MODEL", "model of sessions that name none; comes before ANTHROPIC_MODEL"),
    Variable("HANDRAIL_SCRIPT", "a script that answers instead of a model"),
    Variable("HANDRAIL_CONTEXT_WINDOW", "tokens at which a conversation is compacted, instead of the model's window"),
    Variable("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "as HANDRAIL_CONTEXT_WINDOW, at most the model's window"),
    Variable("DISABLE_AUTO_COMPACT", "1: a conversation is compacted only by /compact"),
    Variable("DISABLE_COMPACT", "1: a conversation is never compacted"),
    Variable("ANTHROPIC_SMALL_FAST_MODEL", "model of titles and of what WebFetch asks about a page"),
    # Network
    Variable("HTTPS_PROXY", "proxy for https addresses"),
    Variable("HTTP_PROXY", "proxy for http addresses"),
    Variable("ALL_PROXY", "proxy for all addresses"),
    Variable("NO_PROXY", "hosts that are reached without a proxy"),
    Variable("SSL_CERT_FILE", "file with more certificates to trust"),
    Variable("NODE_EXTRA_CA_CERTS", "file with more certificates to trust"),
    Variable("HANDRAIL_PRIVATE_ADDRESSES", "allow: WebFetch may reach this machine and private networks"),
    # Hosts and SDKs
    Variable("CLAUDE_CODE_ENTRYPOINT", "the program that started the agent, for the user agent of API requests"),
    Variable("CLAUDE_AGENT_SDK_VERSION", "version of the SDK, for the user agent of API requests"),
    Variable("CLAUDE_AGENT_SDK_CLIENT_APP", "name of the application, for the user agent of API requests"),
    Variable("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true: keep files for `rewind_files`"),
    Variable("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1: send `session_state_changed`"),
    Variable("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1: send `session_state_changed`, marked for the SDK only"),
    # Tools and servers
    Variable("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT", "markdown or html: AskUserQuestion may show previews of options"),
    Variable("CLAUDE_CODE_SIMPLE", "1: as --bare"),
    Variable("BASH_DEFAULT_TIMEOUT_MS", "milliseconds that a Bash command may take"),
    Variable("BASH_MAX_TIMEOUT_MS", "longest timeout that the model may choose"),
    Variable("BASH_MAX_OUTPUT_LENGTH", "characters of output that the model sees"),
    Variable("MCP_TIMEOUT", "milliseconds that a server has to connect"),
    Variable("MCP_TOOL_TIMEOUT", "milliseconds that a call of a server's tool may take"),
    Variable("MAX_MCP_OUTPUT_TOKENS", "tokens of a result of a server's tool"),
    # Files
    Variable("CLAUDE_CONFIG_DIR", "folder of settings, sessions and `.claude.json`"),
    Variable("HOME", "home folder"),
    # Not supported
    Variable("CLAUDE_CODE_USE_BEDROCK", _PROVIDER, "refused"),
    Variable("CLAUDE_CODE_USE_VERTEX", _PROVIDER, "refused"),
    Variable("CLAUDE_CODE_USE_FOUNDRY", _PROVIDER, "refused"),
    Variable("CLAUDE_CODE_OAUTH_TOKEN", "accounts cannot sign in; set ANTHROPIC_API_KEY", "notice"),
)
_OFF: Final = ("", "0", "false", "no", "off")


def is_on(environment: Mapping[str, str], name: str) -> bool:
    """Whether a variable that turns something on is set to 1, true, yes or on."""
    return environment.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def check_variables(environment: Mapping[str, str]) -> list[str]:
    """Lines for stderr about ignored variables. Raises Refused for a variable that cannot be ignored."""
    notices: list[str] = []
    for variable in VARIABLES:
        if variable.state == "works" or environment.get(variable.name, "").lower() in _OFF:
            continue
        if variable.state == "refused":
            raise Refused(f"Error: {variable.name} is not supported by handrail-agent: {variable.text}")
        notices.append(f"handrail-agent: {variable.name} is ignored: {variable.text}")
    return notices
