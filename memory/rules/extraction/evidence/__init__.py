"""Decides whether the words that a model cites bear the statement that it makes of them."""
