"""What runs beside conversations: jobs, maintenance, erasure, indexes, embedder switches."""
