"""What lies beside memories: sessions, observations of a session, projections of memories."""
