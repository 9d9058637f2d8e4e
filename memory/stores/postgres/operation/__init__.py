"""The Postgres adapters of what an operator does: tokens, maintenance, erasure, the switch of the embedder."""
