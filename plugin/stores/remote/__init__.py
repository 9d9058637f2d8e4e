"""The store of a server, over HTTP."""
