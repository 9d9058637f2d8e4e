"""Importing what other memories hold."""
