"""Tokens that bring their own models: their configuration, checked, and what is shown of it."""
