"""Which type an observation has, and how many of a session are kept."""
