"""What the database keeps for the plugin of a host."""
