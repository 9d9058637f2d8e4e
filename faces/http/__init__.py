"""The HTTP service: the memory of many users behind tokens."""
