"""Programs that report about the system, and builtins of the shell."""

from __future__ import annotations

from typing import Final

from handrail.permissions.programs.description import Program, program

__all__ = ["BUILTINS", "SYSTEM_TOOLS"]

SYSTEM_TOOLS: Final[dict[str, Program]] = {
    "date": program(
        "-u -R -I[:text] -d:text -r:path --utc --universal --rfc-email --rfc-2822 --rfc-3339:text"
        " --iso-8601[:text] --date:text --reference:path",
        "date-format",
    ),
    "hostname": program("-A -d -f -i -I -s -y --fqdn --short --long --domain --ip-address --all-fqdns"),
    # Spelled out word by word: `e` without a dash, and behind one where no user has that name, prints environments.
    "ps": program(
        "-A -a -d -e -f -ef -eF -efl -ely -eLf -Af -aux -auxw -auxww -ax -axu -axf"
        " -eo:process-columns -axo:process-columns -Ao:process-columns -o:process-columns"
        " -p:process-ids -u:text -U:text -C:text -t:text -F -H -j -l -L -T -w -ww -x -y --forest --sort:sort-key"
        " --no-headers --no-heading --pid:process-ids --ppid:process-ids --user:text --cols:number --width:number"
        " --format:process-columns",
        "process-list*",
        clusters=False,
    ),
    "pgrep": program(
        "-a -c -d:text -f -g:text -G:text -i -l -n -o -P:text -s:text -t:text -u:text -U:text -v -w -x --count"
        " --list-name --list-full --newest --oldest --parent:text --exact --full --ignore-case",
        "text",
    ),
    "uname": program(
        "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine"
        " --processor --hardware-platform --operating-system"
    ),
    "free": program("-b -k -m -g -h -l -t -w --bytes --kibi --mebi --gibi --human --lohi --total --wide"),
    "uptime": program("-p -s --pretty --since"),
    "nproc": program("--all --ignore:number"),
    "whoami": program(),
    "logname": program(),
    "users": program(),
    "tty": program("-s --silent --quiet"),
    "id": program("-a -g -G -n -r -u -z --group --groups --name --real --user --zero", "text"),
    "groups": program("", "text*"),
    "cal": program("-1 -3 -y -m -s -j -w", "text*"),
    "lscpu": program("-a -b -c -e[:text] -J -p[:text] -x --all --json --extended[:text] --parse[:text]"),
    "getconf": program("-a", "text*"),
    "locale": program("-a -m -c -k --all-locales --charmaps", "text*"),
    "sleep": program("", "duration*"),
    "sw_vers": program("-productName -productVersion -buildVersion", clusters=False),
}

BUILTINS: Final[dict[str, Program]] = {
    **dict.fromkeys(("true", "false", ":"), program(prints=True)),
    "echo": program(prints=True),
    "printf": program("", "text anything*", leading=True),
    "cd": program("-L -P -e", "path"),
    "wait": program("-n -f", "text*"),
    "jobs": program("-l -n -p -r -s", "text*"),
    **dict.fromkeys(("exit", "return", "break", "continue", "shift"), program("", "count")),
    "set": program("-e -u -x -o:shell-option", "shell-option*", bare=False),
    "unset": program("-v", "variable*"),
    "read": program("-r -s -p:text -t:number -n:number -d:text -u:number", "variable*"),
    **dict.fromkeys(("export", "readonly"), program("", "setting*", needs=1)),
    **dict.fromkeys(("local", "declare", "typeset"), program("-r -x -l -u -g", "setting*", needs=1)),
}
"""`declare -i` and `-n` are missing: they evaluate what is assigned. Without a name it prints variables with values."""
