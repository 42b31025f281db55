"""The `handrail` command: one file per subcommand, imported only when it is called. In: argv. Out: an exit code."""

from handrail.cli.main import main

__all__ = ["main"]
