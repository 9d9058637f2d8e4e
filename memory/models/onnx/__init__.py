"""The offline embedder."""
