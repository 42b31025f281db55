"""Names and patterns of files, as text."""
