"""Values: what memories, turns, plans, queries, jobs and runs are."""
