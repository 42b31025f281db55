"""The event log and session index of a clustered machine: SQLite first, then JetStream."""
