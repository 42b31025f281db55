"""Names of files that hold keys and credentials."""

from __future__ import annotations

import pytest

from handrail.files.private_names import is_private

BASE = "/home/me"


@pytest.mark.parametrize(
    "path",
    """.ssh a/.ssh/id .SSH/x .npmrc deep/.aws/credentials .config/gh/hosts.yml .config/gh .docker/config.json .pgpass
    .vault-token .azure/msal_token_cache.json .config/gcloud/credentials.db .kube/config .gnupg/x .netrc _netrc .pypirc
    .cargo/credentials.toml .m2/settings.xml .git-credentials .git/config sub/.git/config id_ed25519 keys/server.pem
    tls/private.key store.p12 .env .env.local app/.env.production .bash_history .terraform.d/credentials.tfrc.json
    .config/rclone/rclone.conf .cache/huggingface/token .Config/GH/hosts.yml x/../.ssh/id .local/share/keyrings/login
    .codex/auth.json prod.tfvars .git-credentials:x .password-store/a.gpg .config/containers/auth.json
    .yarnrc.yml""".split(),
)
def test_keys_and_credentials_are_closed_in_any_folder(path: str):
    assert is_private(f"{BASE}/{path}", BASE)


@pytest.mark.parametrize(
    "path",
    """. ssh a/b.txt .github/workflows/x.yml aws .config/nvim/init.lua .docker/daemon.json .env.example .env.sample
    .gitignore .git/HEAD .cargo/config.toml src/keys.py key.txt monkey.keynote environment .envoy
    .eslintrc.json""".split(),
)
def test_other_names_are_open(path: str):
    assert not is_private(f"{BASE}/{path}", BASE)


def test_private_names_above_the_folder_are_ignored_except_in_complete_paths():
    assert not is_private("/home/me/.handrail/work/a.txt", "/home/me/.handrail/work")
    assert is_private("/home/me/.docker/config.json", "/home/me/.docker")
    assert is_private("/home/me/.config/gh/hosts.yml", "/home/me/.config/gh")
