"""The database schema: numbered SQL files, applied in order."""
