"""One session: its process, its events, its questions."""
