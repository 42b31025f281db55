"""What goes with a session, or holds for all: transcripts, pictures, settings."""
