"""The settings: read once, typed, checked."""
