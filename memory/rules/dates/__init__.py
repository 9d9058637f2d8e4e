"""Finds dates and periods in a text and resolves them."""
