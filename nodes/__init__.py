"""The nodes of the graphs. They use the doors of memory."""
