"""Which memories are shown as a profile, an episode, a skill and so on: one pure function for each type."""
