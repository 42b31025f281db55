"""The other end: an executable that takes what `claude` takes and answers as it does."""
