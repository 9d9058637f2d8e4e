"""Reads a question, ranks hits, and packs and renders them."""
