"""The supervisor graph and its threads as a chain has them."""
