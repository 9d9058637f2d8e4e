"""Decides what a candidate changes among its neighbours, and what consolidation merges."""
