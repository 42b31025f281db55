"""Data shared between machines through NATS: transcripts with their checkpoints, uploads and settings."""
