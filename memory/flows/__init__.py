"""What the engine does: flows ask rules for decisions and do I/O through ports."""
