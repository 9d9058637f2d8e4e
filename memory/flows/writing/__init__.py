"""From a turn or an import to a committed plan."""
