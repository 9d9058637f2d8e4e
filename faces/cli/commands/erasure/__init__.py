"""Commands that remove data for good."""
