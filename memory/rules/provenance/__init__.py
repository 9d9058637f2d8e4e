"""Provenance decides whose words a statement rests on: the person's, a document's, a tool's or memory's own."""
