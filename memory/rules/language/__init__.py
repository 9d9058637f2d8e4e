"""Words, numbers, calendars and word lists of English and Chinese."""
