"""Commands for workers, consolidation and indexes."""
