"""What the pages of memories are made of beside the parts of all pages."""
