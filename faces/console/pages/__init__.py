"""One module for each area of the console. Each has `routes`, which the application joins."""
