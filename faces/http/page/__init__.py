"""Pages for an operator with a browser: the settings by stages, and what the plugin did. They need no script."""
