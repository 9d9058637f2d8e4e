"""The schema at work: migrations, indexes of large spaces, rewriting of files after an erasure."""
