"""Which entries of a git configuration run a program, load code, or send data to another place.

The table follows git-config(1); `tests/settings/git_keys.txt` lists every documented key that was considered. Keys that
git does not document belong to other programs (git-lfs, git-annex, git-svn and so on): these count if their last word
names a program.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["kind_of_key", "runs_something"]

_RUNS: Final = frozenset(
    """alias.* alias.*.command browser.*.cmd browser.*.path core.alternaterefscommand core.askpass core.attributesfile
    core.editor core.fsmonitor core.gitproxy core.hookspath core.pager core.sshcommand core.worktree credential.helper
    credential.*.helper diff.external diff.guitool diff.tool diff.*.command diff.*.textconv difftool.*.cmd
    difftool.*.path extensions.partialclone filter.*.clean filter.*.process filter.*.smudge gc.recentobjectshook
    gitcvs.dbdriver gitcvs.*.dbdriver gpg.program gpg.*.program gpg.ssh.defaultkeycommand guitool.*.cmd help.browser
    hook.*.command http.curloptresolve http.*.curloptresolve http.proxy http.*.proxy http.sslcerttype
    http.*.sslcerttype http.sslkeytype http.*.sslkeytype imap.tunnel include.path includeif.*.path init.templatedir
    instaweb.browser instaweb.httpd instaweb.modulepath interactive.difffilter man.viewer man.*.cmd man.*.path
    merge.guitool merge.tool merge.*.driver mergetool.*.cmd mergetool.*.path pager.* protocol.allow protocol.*.allow
    pull.octopus pull.twohead branch.*.mergeoptions remote.*.promisor remote.*.proxy remote.*.receivepack
    remote.*.uploadpack remote.*.vcs sendemail.cccmd sendemail.headercmd sendemail.sendmailcmd sendemail.smtpserver
    sendemail.smtpserveroption sendemail.tocmd sendemail.*.cccmd sendemail.*.headercmd sendemail.*.sendmailcmd
    sendemail.*.smtpserver sendemail.*.smtpserveroption sendemail.*.tocmd sequence.editor submodule.*.update
    tar.*.command trace2.eventtarget trace2.normaltarget trace2.perftarget trailer.*.cmd trailer.*.command
    uploadpack.packobjectshook url.*.insteadof url.*.pushinsteadof web.browser
    lfs.pushurl lfs.standalonetransferagent lfs.url lfs.*.clean lfs.*.path lfs.*.smudge lfs.*.standalonetransferagent
    remote.*.lfspushurl remote.*.lfsurl""".split()
)
"""Documented keys, in lower case, and those of git-lfs. A * is any subsection, or any key of `alias` and `pager`."""

_ADDRESSES: Final = frozenset(
    """branch.*.pushremote branch.*.remote bundle.*.uri fetch.bundleuri remote.pushdefault remote.*.pushurl remote.*.url
    remotes.* submodule.*.url""".split()
)
"""Keys that hold the address of a repository. Most are harmless, but one such as `ext::sh -c …` names a program."""
_PROGRAM_ADDRESS: Final = r"[\w+-]+::"

_SWITCH: Final = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})
_HARMLESS: Final = {
    "core.fsmonitor": _SWITCH,  # the monitor that is built into git
    "pager.*": _SWITCH,
    "protocol.allow": {"never", "user"},
    "protocol.*.allow": {"never", "user"},
    "remote.*.promisor": {"false", "no", "off", "0", ""},
    "submodule.*.update": {"checkout", "rebase", "merge", "none", ""},
}
"""Values of such keys that run nothing."""

_PROGRAM_WORD: Final = (
    r"(?:askpass|browser|cmd|command|driver|editor|helper|hooks?|hookspath|pager|process|prog|program|proxy|shell"
    r"|(?<!cache)textconv|tool|transport|tunnel|viewer)$"
)
_NO_PROGRAMS: Final = ("advice.", "color.", "user.")
"""Sections in which such a word means something else, as in `advice.ignoredHook` and `color.pager`."""


def runs_something(name: str, value: str) -> bool:
    """Whether an entry counts. `name` as git prints it: section and key in lower case."""
    kind = kind_of_key(name)
    if kind in _ADDRESSES:
        return re.match(_PROGRAM_ADDRESS, value) is not None
    if kind == "alias.*":
        return value.startswith("!")
    if kind in _RUNS:
        return value.lower() not in _HARMLESS.get(kind, ())
    return re.search(_PROGRAM_WORD, name) is not None and not name.startswith(_NO_PROGRAMS)


def kind_of_key(name: str) -> str:
    """The row of the table that a name belongs to: `filter.*.clean` for `filter.lfs.clean`."""
    section, *middle, key = name.split(".")
    starred = f"{section}.*.{key}" if middle else f"{section}.*"
    known = _RUNS | _ADDRESSES
    return name if name in known or starred not in known else starred
