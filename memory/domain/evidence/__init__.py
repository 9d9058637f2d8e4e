"""What a memory can prove, as values."""
