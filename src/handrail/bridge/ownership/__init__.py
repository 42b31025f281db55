"""Who may run a session."""
