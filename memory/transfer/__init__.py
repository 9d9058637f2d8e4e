"""What a memory takes in from other memories, and what it gives a person: all that is known of them."""
