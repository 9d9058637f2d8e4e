"""Merging of what hosts keep under ids of their own."""
