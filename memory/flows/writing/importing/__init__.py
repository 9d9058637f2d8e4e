"""Importing: rows of an export, plain rows, candidates, and what other memories hold."""
