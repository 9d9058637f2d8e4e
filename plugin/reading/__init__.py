"""Reads what turns and tools say, and what of it may become an item. Pure: nothing here waits or asks a store."""
