"""What a login of the engine may do, as a script for psql and for `muniment grant`."""
