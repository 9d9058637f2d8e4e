"""Episodes and insights: what happened in a conversation, and what a model observes about a person."""
