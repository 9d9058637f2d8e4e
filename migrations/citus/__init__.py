"""What a schema distributed by Citus needs besides."""
