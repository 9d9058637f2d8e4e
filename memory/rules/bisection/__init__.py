"""Decides which of the statements before a model made a reply: what is asked next, and what follows from it."""
