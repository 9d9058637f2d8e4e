"""Policy decides on consent, retention, limits of changes, costs, retries and schedules."""
