"""A person's own file: everything that is known of them, in plain words, as a page, a PDF or JSON."""
