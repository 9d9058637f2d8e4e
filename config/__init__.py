"""The settings' file with every default."""
