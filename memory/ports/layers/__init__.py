"""Ports of what lies beside memories: sessions, observations, projections."""
