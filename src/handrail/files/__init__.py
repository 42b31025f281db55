"""The one way to a file that a model, a browser or a repository has named."""
