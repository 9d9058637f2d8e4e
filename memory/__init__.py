"""The engine: domain values, rules, flows, ports and their adapters, and the doors that callers use."""
