"""Extraction decides what a message states and what it asks to forget, by rule or from a model's answer."""
