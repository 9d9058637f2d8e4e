"""Decides what a document states: reads its text as blocks, and cuts these into statements that stand alone."""
