"""Recorded sessions through the plugin again, to compare policies. Nothing of it stays."""
