"""The ways in for people: the command line."""
