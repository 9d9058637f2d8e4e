"""Turns of the supervisor graph that are made again with parts of what stood before the model."""
