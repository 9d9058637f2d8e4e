"""Memory for any host: a middleware of a chain, over a file, a server, or the file first and the server when needed."""
