"""What an agent has beside the engine: its curated files, and the service that recalls and persists through a gateway."""
