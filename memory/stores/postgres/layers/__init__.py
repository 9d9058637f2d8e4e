"""The Postgres adapters of sessions, observations and projections."""
