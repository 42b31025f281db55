"""What others may say to what the agent is about to do: callbacks of the host, commands of the settings."""
