"""The stores of the plugin: a file, the engine, a server, and the file first and the server when needed."""
