"""Procedures: which tool calls of a thread reached a goal, and how they are kept as steps to repeat."""
