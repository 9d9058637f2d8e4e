"""The commands of a chat: what a person types to see and change what is kept."""
