"""What shows that a memory is as it was written."""
