"""Where answers come from: a Messages API, or a script."""
