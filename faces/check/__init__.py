"""Memory under test: check files, what they assert, and the reports. For `muniment check` and for pytest."""
