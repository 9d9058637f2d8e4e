"""Queries, briefs, single memories, history and counts."""
