"""MCP: the memory of one user for a client that speaks the Model Context Protocol."""
