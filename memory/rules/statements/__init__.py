"""Parses statements: who, what, whose, how many."""
