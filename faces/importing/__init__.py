"""Readers of the files of other memories: each yields records, and none knows the engine."""
