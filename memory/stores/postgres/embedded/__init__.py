"""The Postgres server that Muniment starts itself."""
