"""The client of a memory gateway."""
