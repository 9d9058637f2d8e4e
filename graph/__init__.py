"""The graphs, wired from nodes, and the storage of their threads."""
