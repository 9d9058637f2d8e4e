"""The multilingual embedder."""
