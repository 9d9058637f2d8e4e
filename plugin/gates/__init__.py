"""The gates: pure rules that decide, with a reason, whether a turn reads, writes, and how much."""
