"""The host: the folder of a proxy, its environment, its start and its end."""
