"""Ports of the pages of the console: one for each area, read only."""
