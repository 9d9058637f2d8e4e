"""What becomes of the body of a request: its raw text, its messages, and where memory stands in them."""
