"""What a person says of their work - a decision, a rule, a discovery, a fix, a task - and what only looks like it."""
