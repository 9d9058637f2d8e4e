"""Commands for the database: migrate and stop."""
