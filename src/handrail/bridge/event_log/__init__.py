"""What happened in sessions, in order and for good."""
