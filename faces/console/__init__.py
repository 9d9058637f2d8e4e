"""The console: pages for a person with a browser, to see, correct and delete what is known. They need no script."""
