"""Opens files whose path comes from a model, a browser or a repository."""
