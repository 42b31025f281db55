"""SQLite: events, sessions, receipts, uploads, usage, the audit log. The ports are in base.py."""
