"""The upstream: how a request goes to it, and how its answer comes back and is seen beside."""
