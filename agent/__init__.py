"""What an agent has beside the engine: its curated files, its configuration, and what it asks of a gateway."""
