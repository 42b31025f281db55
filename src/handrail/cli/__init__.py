"""The `handrail` command: one file per subcommand, imported only when it is called."""

from handrail.cli.main import main

__all__ = ["main"]
