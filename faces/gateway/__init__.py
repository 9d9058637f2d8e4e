"""The gateway: the memory behind three routes, for hosts of agents that send their user's key with each request."""
