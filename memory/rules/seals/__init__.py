"""Decides whether the journal of a space, its memories and their former versions are as they were written."""
