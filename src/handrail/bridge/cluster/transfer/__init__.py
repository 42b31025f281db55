"""Data shared between machines through NATS: transcripts, uploads and settings."""
