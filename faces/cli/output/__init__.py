"""What the commands print: tables, lines and JSON."""
