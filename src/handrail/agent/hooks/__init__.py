"""Hooks: callbacks of the host and commands of the settings that run at events of a session."""
