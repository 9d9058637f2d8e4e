"""Values of a memory gateway's client: how it is configured, and what goes over the wire."""
