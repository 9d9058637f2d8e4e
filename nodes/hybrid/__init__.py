"""The nodes of the graph `hybrid`: begin, recall, reply, persist."""
