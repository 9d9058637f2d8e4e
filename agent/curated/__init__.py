"""The curated files: two small texts that the model keeps with one tool, and that a person can read and edit."""
