"""Reads documents in a process of its own, which a hostile one can neither hang nor fill."""
