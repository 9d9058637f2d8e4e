"""What leaves a memory: the formats of an export, and the archive of all of a user."""
