"""Commands that query, show and change memories."""
