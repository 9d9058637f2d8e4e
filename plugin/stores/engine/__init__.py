"""The store over the engine's own memory, for hosts beside a Postgres."""
