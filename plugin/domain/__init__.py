"""The values of the plugin: items, queries, hits, policies, and what is counted of a turn."""
