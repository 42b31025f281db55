"""Leases of machines and ownership of sessions, kept in two NATS buckets."""
