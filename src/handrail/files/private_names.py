"""Names of files and folders that hold keys and credentials, which the server never shows to a client."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import Final

from handrail.permissions.paths.names import bare_name

__all__ = ["is_private"]

_NAMES: Final = frozenset(
    """.ssh .gnupg .aws .azure .oci .kube .minikube .gcloud .boto .s3cfg .bluemix .aliyun .tccli .databrickscfg
    .snowsql .snowflake .handrail .netrc _netrc .git-credentials .pypirc .npmrc .yarnrc.yml .dockercfg .pgpass
    .my.cnf .mylogin.cnf .vault-token .vault-pass .vault_pass .terraformrc terraform.rc .claude.json
    .credentials.json .htpasswd .password-store .fly .railway .supabase .cloudflared .ngrok2 .kaggle .tsh .step
    .chef .rclone.conf .msmtprc .fetchmailrc .mailrc .authinfo .authinfo.gpg .smbcredentials .anthropic .openai
    .huggingface .twilio-cli .mozilla .thunderbird .electrum .bitcoin .ethereum .bash_history .zsh_history
    .sh_history .history .psql_history .mysql_history .sqlite_history .rediscli_history .python_history
    .node_repl_history .lesshst .viminfo id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .env .envrc
    credentials.tfrc.json application_default_credentials.json service-account.json service_account.json""".split()
)
"""Closed wherever they are."""

_PATHS: Final = tuple(
    """.config/handrail
    .config/gh .config/hub .config/glab-cli .config/gcloud .config/doctl .config/rclone .config/op .config/1password
    .config/heroku .config/netlify .config/stripe .config/ngrok .config/sops .config/age
    .config/containers/auth.json .config/helm/registry .config/configstore .config/keyring .config/google-chrome
    .config/chromium .config/bravesoftware .config/github-copilot .config/openai .config/anthropic .config/flyctl
    .config/scw .config/linode-cli .config/hcloud .config/exercism .config/composer/auth.json .config/pip
    .config/nuget .config/git/credentials .config/goose .config/aichat .config/filezilla .config/remmina
    .config/wireguard .docker/config.json .docker/contexts .terraform.d/credentials.tfrc.json .cargo/credentials
    .cargo/credentials.toml .gem/credentials .composer/auth.json .bundle/config .m2/settings.xml
    .m2/settings-security.xml .gradle/gradle.properties .nuget/nuget.config .pip/pip.conf .cache/huggingface/token
    .cache/huggingface/stored_tokens .codex/auth.json .gemini/oauth_creds.json .local/share/keyrings
    .local/share/kwalletd .local/share/com.vercel.cli .local/share/opencode/auth.json .local/share/python_keyring
    .subversion/auth .circleci/cli.yml .travis/config.yml .vercel/auth.json .netlify/config.json
    .jupyter/jupyter_server_config.json .irssi/config .weechat/sec.conf .purple/accounts.xml .git/config
    .git/credentials library/keychains library/cookies appdata/roaming/gcloud appdata/roaming/gnupg etc/shadow
    etc/gshadow etc/sudoers etc/ssh root/.ssh run/secrets""".split()
)
"""Closed where these names follow each other, also at the end of the session's own folder."""

_ENDINGS: Final = ("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.ovpn", "*.tfvars")
_ENVIRONMENTS: Final = ".env.*"
_EXAMPLES: Final = (".example", ".sample", ".template", ".dist", ".defaults")


def is_private(path: str, base: str) -> bool:
    """Whether a file must not be shown. `path` is absolute; names above `base`, the session's folder, do not count
    by themselves: a session may work below a folder such as `.handrail`."""
    path = os.path.normpath(path)
    below = [bare_name(name) for name in os.path.relpath(path, base).split("/")]
    whole = f"{'/'.join(map(bare_name, path.split('/')))}/"
    return any(map(_is_closed, below)) or any(f"/{closed}/" in whole for closed in _PATHS)


def _is_closed(name: str) -> bool:
    if name in _NAMES or any(fnmatchcase(name, pattern) for pattern in _ENDINGS):
        return True
    return fnmatchcase(name, _ENVIRONMENTS) and not name.endswith(_EXAMPLES)
