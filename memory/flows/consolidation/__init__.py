"""Consolidation of a space: find pairs, compare them, merge; by batches and with undo."""
