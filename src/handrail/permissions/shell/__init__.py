"""Reads shell text: words, quotes, redirections, and the simple commands in a script."""
