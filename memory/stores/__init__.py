"""The adapters of the store."""
