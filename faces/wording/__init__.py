"""The words that pages and files for people share, in each language."""
