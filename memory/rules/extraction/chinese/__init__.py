"""The Chinese rules of extraction: tables of patterns, each with the function that makes statements of a match."""
