"""The store in Postgres: a class for each port over one pool."""
