"""The file first, and the server when needed: what is written goes into both, at once here and later there."""
