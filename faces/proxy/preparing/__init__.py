"""What goes upstream for a request: the client's body with what memory and the session have for it."""
