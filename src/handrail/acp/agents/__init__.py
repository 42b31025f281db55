"""Other agents behind the CLI's protocol: Handrail as the client of an ACP agent."""

from handrail.platform import exit_without

__all__ = ["run"]


def run() -> None:
    """The entry point of `handrail-acp`."""
    exit_without("groups", "handrail-acp")
    from handrail.acp.agents import main  # imports modules that need POSIX

    main.run()
