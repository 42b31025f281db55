"""SQLite: events, sessions, receipts, uploads, usage, the audit log; the ports in base.py."""
