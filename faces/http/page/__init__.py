"""One page for an operator with a browser: the six stages of the settings. It needs no script."""
