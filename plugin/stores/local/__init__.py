"""The store of one file on this machine: SQLite with words, and vectors where there is an embedder."""
