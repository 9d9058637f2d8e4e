"""Connections: the pool, roles and row-level security, locks, errors of the driver."""
