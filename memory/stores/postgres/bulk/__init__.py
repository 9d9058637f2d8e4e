"""Rows in bulk: binary import and export of whole spaces."""
