"""The system prompt, and the files that a prompt mentions."""
