"""Redaction decides what leaves a text before it is stored, embedded or logged, and what is not stored at all."""
