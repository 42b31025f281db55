"""Commands: the table, the handlers, the executor and the router port."""
