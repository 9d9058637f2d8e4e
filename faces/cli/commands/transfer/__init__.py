"""Commands that import and export spaces."""
