"""Ports of what an operator does: tokens, maintenance, erasure, usage."""
