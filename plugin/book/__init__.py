"""The book of a plugin: switches of sessions, what turns cost, and what a person has changed. It holds no text."""
