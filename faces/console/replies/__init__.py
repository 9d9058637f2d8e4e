"""What the console does about single replies while nobody waits for it."""
