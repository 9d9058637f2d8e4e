"""Commands that show that nobody changed a memory behind its back: `verify`, `anchor`."""
